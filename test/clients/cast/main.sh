# Foundry's cast: traces of transactions of the chain, and calls.
set -euo pipefail
has() { grep -i -- "$1" >/dev/null || { echo "missing: $1" >&2; exit 1; }; }
export ETH_RPC_URL="$RPC_URL" NO_COLOR=1

cast run "$TOKEN_TX" | tee run.txt | has 'transfer'
has "${TOKEN:2:8}" <run.txt
grep -i 'emit Transfer\|topic 0: 0xddf252ad' run.txt >/dev/null
cast run --quick "$COIN_TX" | has 'Transaction successfully executed'
echo 'cast run: a transfer of the token and of the coin'

cast trace "$TOKEN_TX" | tee trace.txt | has "${TOKEN:2:8}"
has call <trace.txt
cast trace --raw --trace "$SIGNED_TX" | has gasUsed
echo 'cast trace: of a transaction, and of one that is not sent'

owner=$(cast tx "$TOKEN_TX" from)
cast call --trace --from "$owner" "$TOKEN" 'transfer(address,uint256)(bool)' "$owner" 1 | has 'true\|0x0*1'
cast rpc trace_transaction "$TOKEN_TX" | jq -e '.[0].action.callType == "call" and .[0].type == "call"' >/dev/null
cast rpc trace_replayTransaction "$TOKEN_TX" '["vmTrace","stateDiff"]' | jq -e '.vmTrace.ops | length > 50' >/dev/null
cast rpc debug_traceTransaction "$TOKEN_TX" '{"tracer":"prestateTracer"}' | jq -e 'length > 1' >/dev/null
echo 'cast call --trace, trace_transaction, trace_replayTransaction, debug_traceTransaction'

cast access-list --from "$owner" "$TOKEN" 'transfer(address,uint256)' "$owner" 1 | has '0x'
cast proof "$TOKEN" 0 | jq -e '.accountProof | length > 0' >/dev/null
cast storage "$TOKEN" 2 | has '0x'
test "$(cast logs --from-block "$TOKEN_BLOCK" --address "$TOKEN" 'Transfer(address,address,uint256)' --json | jq length)" -gt "$TOKEN_TRANSFERS"
cast estimate --from "$owner" "$TOKEN" 'transfer(address,uint256)' "$owner" 1 >/dev/null
cast block latest --json | jq -e .hash >/dev/null
echo 'access-list, proof, storage, logs, estimate, block'
