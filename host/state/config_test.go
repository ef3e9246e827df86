package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
)

func TestDigest(t *testing.T) {
	tests := []struct {
		json   string
		config interface{ Digest() (string, error) }
		want   string
	}{
		{`{}`, &DeployConfig{}, "sha256:44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"},
		{`{"setVariables":{"B":"2","A":"1"}}`, &DeployConfig{}, "sha256:eaddac36fcf8811f44303a3a7fa4efab4c210db753a0e686c5c241de5c82d898"},
		{`{"values":{"web":{"name":"a<b&c","replicas":3}},"namespaceOverride":"team-a"}`, &DeployConfig{}, "sha256:c5fb8f3a9e572c8721fbae5721700cbe5b3b71c9988f54a053412f861b47d26a"},
		{`{"valuesOverridesMap":{"web":{"podinfo":{"on":true,"nil":null,"big":9007199254740993}}}}`, &DeployConfig{}, "sha256:3ff9ce61f83a3f5c5d371a2ddf15e34d196423f4ca09ddfa6395067c567890b7"},
		{`{"values":{"keep":true}}`, &RemoveConfig{}, "sha256:e73a9b66b4ed8a7989fe65591fa6ef3be47663acbcae553f2ac043818d62510f"},
	}
	for _, test := range tests {
		if err := json.Unmarshal([]byte(test.json), test.config); err != nil {
			t.Fatal(err)
		}
		got, err := test.config.Digest()
		if err != nil || got != test.want {
			t.Errorf("%s: %s, %v; want %s", test.json, got, err, test.want)
		}
	}
}

func TestDigestOfWhatIsNoJSON(t *testing.T) {
	for name, value := range map[string]any{
		"NaN": math.NaN(), "channel": make(chan int), "number": json.Number("hunter2"), "keys": map[any]any{1: 2},
	} {
		_, err := DeployConfig{Values: Values{"secret": value}}.Digest()
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v; want an error that does not quote the value", name, err)
		}
	}
}

// A configuration is not shown by accident: by no verb, by no logger, at no depth.
func TestConfigIsNotPrinted_A13(t *testing.T) {
	const secret = "hunter2"
	config := DeployConfig{
		SetVariables:       map[string]string{"PASSWORD": secret},
		Values:             Values{"password": secret},
		NamespaceOverride:  secret,
		ValuesOverridesMap: ValuesOverrides{"c": {"r": {"password": secret}}},
	}
	removal := RemoveConfig{Values: config.Values, NamespaceOverride: secret}
	p := Package{Name: "p", DeployConfig: &config, Events: []PackageEvent{{ConfigDigest: "sha256:" + secret}}}
	record := Record{Package: p, readData: []byte(secret)}
	for _, value := range []any{config, &config, removal, &removal, config.Values, config.ValuesOverridesMap,
		record, &record, struct{ Record }{record}, struct{ C *DeployConfig }{&config}, []DeployConfig{config}, map[string]DeployConfig{"x": config}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%d", "%x"} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, secret) || strings.Contains(text, fmt.Sprintf("%x", secret)) {
				t.Errorf("%s of %T shows the secret: %s", verb, value, text)
			}
		}
	}
	for _, value := range []any{config, &config, removal, &removal, config.Values, config.ValuesOverridesMap, p, &p, record, &record} {
		var log bytes.Buffer
		slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "value", value)
		slog.New(slog.NewTextHandler(&log, nil)).Info("x", "value", value)
		if strings.Contains(log.String(), secret) {
			t.Errorf("logging %T shows the secret: %s", value, log.String())
		}
	}
	if text := fmt.Sprintf("%+v", config.String()); text != "DeployConfig(redacted)" {
		t.Errorf("String: %s", text)
	}
	public, err := json.Marshal(p.Public())
	if err != nil || strings.Contains(string(public), secret) {
		t.Errorf("Public shows the secret: %s, %v", public, err)
	}
	if p.DeployConfig == nil || p.Events[0].ConfigDigest == "" {
		t.Error("Public changed the record that it was called on")
	}
}

func TestConfigErrorsQuoteNothing(t *testing.T) {
	var config DeployConfig
	for _, data := range []string{`{"setVariables":{"A":123456}}`, `{"setVariables":"hunter2"}`, `{"values":[123456]}`} {
		err := json.Unmarshal([]byte(data), &config)
		if err == nil || strings.Contains(err.Error(), "123456") || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %v; want an error that does not quote it", data, err)
		}
	}
}
