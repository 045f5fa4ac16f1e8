"""Exports a chain by ethereum-etl and counts what it wrote; ends with 1 where that is not what the chain has."""

import csv
import json
import os
import subprocess
import urllib.request

URL = os.environ["RPC_URL"]
TOKEN = os.environ["TOKEN"].lower()
TRANSFERS = int(os.environ["TOKEN_TRANSFERS"])
csv.field_size_limit(10_000_000)


def call(method, *params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request(URL, body, {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request))["result"]


def etl(command, *arguments):
    subprocess.run(["environment/bin/ethereumetl", command, *arguments], check=True, stderr=subprocess.PIPE)


def rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


last = int(call("eth_getTransactionReceipt", os.environ["COIN_TX"])["blockNumber"], 16)
span = ["--start-block", "0", "--end-block", str(last), "--provider-uri", URL]

etl("export_blocks_and_transactions", *span, "--blocks-output", "blocks.csv", "--transactions-output", "transactions.csv")
blocks, transactions = rows("blocks.csv"), rows("transactions.csv")
assert len(blocks) == last + 1, len(blocks)
assert sum(int(block["transaction_count"]) for block in blocks) == len(transactions)
for number in (1, last):
    assert call("eth_getBlockByNumber", hex(number), False)["hash"] in {block["hash"] for block in blocks}
print(len(blocks), "blocks,", len(transactions), "transactions")

with open("hashes.txt", "w") as file:
    file.writelines(transaction["hash"] + "\n" for transaction in transactions)
etl("export_receipts_and_logs", "--transaction-hashes", "hashes.txt", "--provider-uri", URL, "--receipts-output", "receipts.csv", "--logs-output", "logs.csv")
receipts, logs = rows("receipts.csv"), rows("logs.csv")
assert len(receipts) == len(transactions)
expected = call("eth_getLogs", {"fromBlock": "0x0", "toBlock": hex(last)})
assert len(logs) == len(expected), (len(logs), len(expected))
etl("extract_token_transfers", "--logs", "logs.csv", "--output", "transfers.csv")
transfers = [row for row in rows("transfers.csv") if row["token_address"] == TOKEN]
assert len(transfers) == TRANSFERS + 1, len(transfers)
print(len(receipts), "receipts,", len(logs), "logs,", len(transfers), "transfers of the token")

since_first = ["--start-block", "1", *span[2:]]  # geth does not trace the genesis
etl("export_geth_traces", *since_first, "--output", "geth.json")
etl("extract_geth_traces", "--input", "geth.json", "--output", "geth.csv")
geth = [row for row in rows("geth.csv") if row["trace_address"] == ""]
assert len(geth) == len(transactions), (len(geth), len(transactions))
etl("export_traces", *since_first, "--output", "traces.csv")
traces = rows("traces.csv")
outer = [row for row in traces if row["trace_type"] in ("call", "create") and row["trace_address"] == ""]
assert len(outer) == len(transactions), (len(outer), len(transactions))
paid = {(row["from_address"], row["to_address"], row["value"]) for row in outer}
assert {(row["from_address"], row["to_address"], row["value"]) for row in transactions if row["to_address"]} <= paid
print(len(geth), "transactions traced by geth's tracer,", len(traces), "traces of the namespace trace")
