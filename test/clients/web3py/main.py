"""Talks to a node by web3.py; ends with 1 at the first answer that is not as expected."""

import asyncio
import os

from web3 import AsyncWeb3, Web3, WebSocketProvider
from web3.exceptions import ContractLogicError
from web3.utils.subscriptions import LogsSubscription, NewHeadsSubscription

RPC_URL, WS_URL = os.environ["RPC_URL"], os.environ["WS_URL"]
TOKEN, TOKEN_TX = os.environ["TOKEN"], os.environ["TOKEN_TX"]
ABI = [
    {"type": "function", "name": "balanceOf", "stateMutability": "view", "inputs": [{"name": "a", "type": "address"}], "outputs": [{"name": "", "type": "uint256"}]},
    {"type": "function", "name": "transfer", "stateMutability": "nonpayable", "inputs": [{"name": "to", "type": "address"}, {"name": "value", "type": "uint256"}], "outputs": [{"name": "", "type": "bool"}]},
    {"type": "event", "name": "Transfer", "anonymous": False, "inputs": [{"name": "from", "type": "address", "indexed": True}, {"name": "to", "type": "address", "indexed": True}, {"name": "value", "type": "uint256", "indexed": False}]},
    {"type": "error", "name": "ERC20InsufficientBalance", "inputs": [{"name": "sender", "type": "address"}, {"name": "balance", "type": "uint256"}, {"name": "needed", "type": "uint256"}]},
]


def read_and_send() -> None:
    w3 = Web3(Web3.HTTPProvider(RPC_URL))
    assert w3.is_connected(show_traceback=True)
    assert w3.eth.chain_id == int(os.environ["CHAIN_ID"])
    account = w3.eth.account.from_key(os.environ["PRIVATE_KEY"])
    token = w3.eth.contract(address=Web3.to_checksum_address(TOKEN), abi=ABI)
    assert token.functions.balanceOf(account.address).call() > 0

    transactions = token.functions.transfer(w3.to_checksum_address("0x" + "12" * 20), 1).build_transaction(
        {"from": account.address, "nonce": w3.eth.get_transaction_count(account.address, "pending")}
    )
    filter_ = token.events.Transfer.create_filter(from_block="latest", argument_filters={"from": account.address})
    sent = w3.eth.send_raw_transaction(account.sign_transaction(transactions).raw_transaction)
    receipt = w3.eth.wait_for_transaction_receipt(sent, poll_latency=0.1)
    assert receipt["status"] == 1
    assert token.events.Transfer().process_receipt(receipt)[0]["args"]["value"] == 1
    assert sent in [entry["transactionHash"] for entry in filter_.get_all_entries()]
    block = w3.eth.get_block(receipt["blockNumber"], full_transactions=True)
    assert sent in [transaction["hash"] for transaction in block["transactions"]]
    history = token.events.Transfer.get_logs(from_block=int(os.environ["TOKEN_BLOCK"]))
    assert len(history) > int(os.environ["TOKEN_TRANSFERS"])
    w3.eth.fee_history(4, "latest", [10, 90])
    w3.eth.get_proof(token.address, [0], receipt["blockNumber"])
    try:
        token.functions.transfer(account.address, 10**40).call({"from": account.address})
        raise AssertionError("a transfer of too much is no error")
    except ContractLogicError as error:
        assert error.data.startswith("0xe450d38c"), error
    print("blocks, receipts, filters, logs, proof, a sent transaction, a custom error")

    calls = w3.tracing.trace_block(receipt["blockNumber"])
    assert any(call.get("transactionHash") == sent for call in calls), calls
    replay = w3.tracing.trace_replay_transaction(sent, ["trace", "stateDiff"])
    assert token.address.lower() in {address.lower() for address in replay["stateDiff"]}
    found = w3.tracing.trace_filter({"fromBlock": receipt["blockNumber"], "toBlock": receipt["blockNumber"], "toAddress": [token.address]})
    assert len(found) > 0
    print("trace_block, trace_replayTransaction, trace_filter")


async def subscribe() -> None:
    async with AsyncWeb3(WebSocketProvider(WS_URL)) as w3:
        heads, logs = [], []

        async def on_head(context) -> None:
            heads.append(context.result)

        async def on_log(context) -> None:
            logs.append(context.result)
            await w3.subscription_manager.unsubscribe_all()

        await w3.subscription_manager.subscribe(
            [NewHeadsSubscription(handler=on_head), LogsSubscription(address=Web3.to_checksum_address(TOKEN), handler=on_log)]
        )
        account = w3.eth.account.from_key(os.environ["PRIVATE_KEY"])
        token = w3.eth.contract(address=Web3.to_checksum_address(TOKEN), abi=ABI)
        transaction = await token.functions.transfer(account.address, 2).build_transaction(
            {"from": account.address, "nonce": await w3.eth.get_transaction_count(account.address, "pending")}
        )
        await w3.eth.send_raw_transaction(account.sign_transaction(transaction).raw_transaction)
        await asyncio.wait_for(w3.subscription_manager.handle_subscriptions(), timeout=30)
        assert len(logs) > 0 and len(heads) > 0
    print("subscriptions newHeads and logs over a WebSocket")


read_and_send()
asyncio.run(subscribe())
