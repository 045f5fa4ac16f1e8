# The relayer's command line, without a second chain. There is no IBC here, which is all that its health check may complain of.
set -euo pipefail
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
cat >"$home/config.toml" <<END
[global]
log_level = 'info'

[[chains]]
type = 'CosmosSdk'
id = '$COSMOS_CHAIN_ID'
rpc_addr = '$COMET_URL'
grpc_addr = 'http://$GRPC_ADDRESS'
event_source = { mode = 'push', url = '${COMET_URL/http:/ws:}/websocket', batch_delay = '200ms' }
account_prefix = 'coin'
key_name = 'relayer'
key_store_folder = '$home/keys'
store_prefix = 'ibc'
max_gas = 3000000
gas_price = { price = 1500000000.0, denom = 'acoin' }
gas_multiplier = 1.2
END
ask() { "$HERMES" --config "$home/config.toml" "$@" >"$home/said" 2>&1 || { cat "$home/said" >&2; exit 1; }; }
has() { grep -- "$1" "$home/said" >/dev/null || { cat "$home/said" >&2; echo "missing: $1" >&2; exit 1; }; }

ask config validate
has 'configuration is valid'
ask health-check
has 'performed health check'
# Health, status, index of transactions, network, least price of gas, versions of CometBFT and of the SDK come before this in its check.
has 'IBC-Go module version not found'
complaints=$(grep -c 'ERROR\|WARN' "$home/said")
[ "$complaints" = "$(grep -c "health check failed for chain\|IBC-Go module version not found\|some Hermes features may not work\|chain is not healthy" "$home/said")" ] || { cat "$home/said" >&2; exit 1; }
echo 'config validate; health-check, which says that there is no IBC and nothing else'

printf 'test test test test test test test test test test test junk' >"$home/mnemonic"
ask keys add --chain "$COSMOS_CHAIN_ID" --mnemonic-file "$home/mnemonic" --hd-path "m/44'/60'/0'/0/1"
ask keys balance --chain "$COSMOS_CHAIN_ID"
has '[0-9]\{20,\} acoin'
ask query tx events --chain "$COSMOS_CHAIN_ID" --hash "$NATIVE_TX"
has SUCCESS
echo 'keys add, keys balance, query tx events'

# It ends when somebody stops it.
timeout 5 "$HERMES" --config "$home/config.toml" listen --chain "$COSMOS_CHAIN_ID" --events NewBlock >"$home/said" 2>&1 || true
has NewBlock
echo 'listen: blocks over a WebSocket'
