package registry

import (
	"crypto/tls"
	"testing"
)

func TestMayBePlain(t *testing.T) {
	client := &tls.Config{Certificates: []tls.Certificate{{}}}
	tests := []struct {
		opts Options
		host string
		want bool
	}{
		{Options{}, "localhost:5000", true},
		{Options{}, "registry.localhost", true},
		{Options{}, "127.0.0.1", true},
		{Options{}, "127.8.0.1:31999", true},
		{Options{}, "[::1]:5000", true},
		{Options{}, "10.1.2.3:5000", true},
		{Options{}, "192.168.0.9", true},
		{Options{}, "[fd00::1]:5000", true},
		{Options{}, "8.8.8.8:5000", false},
		{Options{}, "registry.example.test", false},
		{Options{}, "localhost.example.test", false},
		{Options{PlainHTTP: true}, "registry.example.test", true},
		{Options{TLS: &tls.Config{}}, "localhost:5000", true},
		{Options{TLS: client}, "localhost:5000", false},
		{Options{TLS: client, PlainHTTP: true}, "localhost:5000", false},
	}
	for _, tt := range tests {
		if got := tt.opts.mayBePlain(tt.host); got != tt.want {
			t.Errorf("%s with %+v: %v", tt.host, tt.opts, got)
		}
	}
}
