# evmd's command line against the node's CometBFT RPC.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
ask() { "$EVMD" "$@" --home "$home" --node "${COMET_URL/http:/tcp:}" --output json; }
has() { grep -- "$1" >/dev/null || { echo "missing: $1" >&2; exit 1; }; }

ask status | has "$COSMOS_CHAIN_ID"
ask query block --type=height 2 | has '"height":"2"'
ask query evm params | has extended_denom_options
evm=${TOKEN_TX#0x}
ask query tx "$evm" | has MsgEthereumTx
height=$(ask query tx "$evm" | jq -r .height)
ask query txs --query "tx.height=$height" | has MsgEthereumTx
ask query tx "$NATIVE_TX" | has cosmos.bank.v1beta1.MsgSend
ask query txs --query "message.action='/cosmos.bank.v1beta1.MsgSend'" | has "$NATIVE_TX"
ask query txs --query "tx.height>0" --limit 100 | jq -r '.txs[].tx.body.messages[]."@type"' | sort -u >"$home/types"
has MsgEthereumTx <"$home/types"
has MsgSend <"$home/types"
echo 'status, query block, query evm params, query tx and query txs of both kinds of transactions'

# A transaction signed as in Ethereum, wrapped, encoded, decoded and sent.
"$EVMD" tx evm raw "$SIGNED_TX" --home "$home" --node "${COMET_URL/http:/tcp:}" --chain-id "$CHAIN_ID" --generate-only >"$home/tx.json"
has MsgEthereumTx <"$home/tx.json"
encoded=$("$EVMD" tx encode "$home/tx.json" --home "$home")
"$EVMD" tx decode "$encoded" --home "$home" | has MsgEthereumTx
ask tx broadcast "$home/tx.json" | tee "$home/sent.json" | has '"code":0'
hash=$(jq -r .txhash "$home/sent.json")
for _ in $(seq 50); do
  if ask query tx "$hash" >"$home/found.json" 2>/dev/null; then break; fi
  sleep 0.2
done
has MsgEthereumTx <"$home/found.json"
echo 'tx evm raw, tx encode, tx decode, tx broadcast'
