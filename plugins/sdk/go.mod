module github.com/zarf-host/zarf-host/plugins/sdk

go 1.22
