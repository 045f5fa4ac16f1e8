set -eu
GOBIN="$PWD" go install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.3
