# Lists, describes and calls by server reflection.
set -euo pipefail
ask() { ./grpcurl -plaintext "$@"; }
has() { grep -- "$1" >/dev/null || { echo "missing: $1" >&2; exit 1; }; }

services=$(ask "$GRPC_ADDRESS" list)
for service in cosmos.bank.v1beta1.Query cosmos.tx.v1beta1.Service cosmos.base.tendermint.v1beta1.Service grpc.reflection.v1.ServerReflection; do
  has "^$service$" <<<"$services"
done
while read -r service; do
  ask "$GRPC_ADDRESS" describe "$service" >/dev/null
done <<<"$services"
echo "$(wc -l <<<"$services") services listed and described"

ask "$GRPC_ADDRESS" describe cosmos.bank.v1beta1.QueryTotalSupplyResponse | has pagination
ask "$GRPC_ADDRESS" cosmos.bank.v1beta1.Query/TotalSupply | has '"acoin"'
ask -d '{"status":"BOND_STATUS_BONDED"}' "$GRPC_ADDRESS" cosmos.staking.v1beta1.Query/Validators | has '"operatorAddress"'
ask -H 'x-cosmos-block-height: 2' -v "$GRPC_ADDRESS" cosmos.bank.v1beta1.Query/Params | has 'x-cosmos-block-height: 2'
ask "$GRPC_ADDRESS" cosmos.base.tendermint.v1beta1.Service/GetLatestBlock | has '"chainId"'
ask -d "{\"hash\":\"${TOKEN_TX#0x}\"}" "$GRPC_ADDRESS" cosmos.tx.v1beta1.Service/GetTx | has MsgEthereumTx
if ask -d '{"address":"nobody"}' "$GRPC_ADDRESS" cosmos.bank.v1beta1.Query/AllBalances 2>error; then exit 1; fi
has InvalidArgument <error
echo 'calls of bank, staking, CometBFT and tx services, a height, an error'
