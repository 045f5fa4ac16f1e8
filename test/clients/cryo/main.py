"""Extracts the chain by cryo; ends with 1 when a file of it is not what the chain has."""

import csv
import glob
import json
import os
import shutil
import urllib.request

import cryo

RPC_URL, TOKEN = os.environ["RPC_URL"], os.environ["TOKEN"].lower()
FIRST, TRANSFERS = int(os.environ["TOKEN_BLOCK"]), int(os.environ["TOKEN_TRANSFERS"])


def ask(method: str, *params):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    request = urllib.request.Request(RPC_URL, body, {"content-type": "application/json"})
    return json.load(urllib.request.urlopen(request))["result"]


LAST = int(ask("eth_getTransactionReceipt", os.environ["COIN_TX"])["blockNumber"], 16)


def extract(datatype: str, **more) -> list[dict[str, str]]:
    """The rows of blocks FIRST to LAST."""
    folder = f"output/{datatype}"
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    options = {"rpc": RPC_URL, "network_name": "devnet", "file_format": "csv", "hex": True, "verbose": False, "output_dir": folder}
    cryo.freeze(datatype, start_block=FIRST, end_block=LAST + 1, **options, **more)
    rows = []
    for path in sorted(glob.glob(f"{folder}/*.csv")):
        with open(path, newline="") as file:
            rows += csv.DictReader(file)
    return rows


blocks = [ask("eth_getBlockByNumber", hex(number), True) for number in range(FIRST, LAST + 1)]
transactions = [transaction for block in blocks for transaction in block["transactions"]]

rows = extract("blocks")
assert [row["block_hash"] for row in rows] == [block["hash"] for block in blocks]
assert [int(row["gas_used"]) for row in rows] == [int(block["gasUsed"], 16) for block in blocks]
rows = extract("transactions")
assert [row["transaction_hash"] for row in rows] == [transaction["hash"] for transaction in transactions]
assert all(row["success"] == "true" for row in rows)
rows = extract("logs", contract=[TOKEN])
assert len(rows) > TRANSFERS and all(row["address"] == TOKEN for row in rows)
rows = extract("erc20_transfers")
assert len([row for row in rows if row["erc20"] == TOKEN]) > TRANSFERS
print(f"{len(blocks)} blocks, {len(transactions)} transactions, logs, transfers of tokens")

rows = extract("traces")
assert {row["transaction_hash"] for row in rows if row["transaction_hash"]} == {it["hash"] for it in transactions}
rows = extract("contracts")
assert TOKEN in [row["contract_address"] for row in rows]
rows = extract("native_transfers")
assert os.environ["COIN_TX"] in [row["transaction_hash"] for row in rows]
for datatype in ("balance_diffs", "nonce_diffs", "storage_diffs"):
    rows = extract(datatype)
    assert {row["transaction_hash"] for row in rows} >= {os.environ["TOKEN_TX"]}, datatype
print("traces, contracts, transfers of coins, differences of balances, nonces and storage by the namespace trace")

rows = extract("four_byte_counts")
assert "0xa9059cbb" in {row["signature"] for row in rows}
print("counts of methods by the namespace debug")
