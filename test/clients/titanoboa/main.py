"""Deploys and calls Vyper contracts by titanoboa, and forks the chain; ends with 1 at the first answer that is not as expected."""

import os

import boa
from eth_account import Account

RPC_URL, TOKEN = os.environ["RPC_URL"], os.environ["TOKEN"]
BOX = """
# pragma version 0.4.3

event Stored:
    by: indexed(address)
    value: uint256

value: public(uint256)

@deploy
def __init__(initial: uint256):
    self.value = initial

@external
@payable
def store(next: uint256) -> uint256:
    assert next <= 1000, "too large"
    before: uint256 = self.value
    self.value = next
    log Stored(by=msg.sender, value=next)
    return before
"""
FACTORY = """
# pragma version 0.4.3

made: public(address)

@external
def make(blueprint: address, initial: uint256):
    self.made = create_from_blueprint(blueprint, initial)
"""
ERC20 = """
# pragma version 0.4.3

@external
@view
def balanceOf(account: address) -> uint256: ...

@external
def transfer(to: address, amount: uint256) -> bool: ...

@external
@view
def totalSupply() -> uint256: ...
"""


def use_network(account) -> None:
    boa.set_network_env(RPC_URL)
    boa.env.add_account(account)
    box = boa.loads(BOX, 5)
    assert box.value() == 5
    assert box.store(7, value=3) == 5
    assert boa.env.get_balance(box.address) == 3
    (stored,) = box.get_logs()
    assert (stored.by, stored.value) == (account.address, 7)
    with boa.reverts("too large"):
        box.store(1001)
    assert box.value() == 7
    print("a contract: deployed, called with coins, its events, a revert with its reason")

    blueprint = boa.loads_partial(BOX).deploy_as_blueprint()
    factory = boa.loads(FACTORY)
    factory.make(blueprint.address, 11)
    made = boa.loads_partial(BOX).at(factory.made())
    assert made.value() == 11
    print("a blueprint of EIP-5202, and a contract that is made of it")


def use_fork(account) -> None:
    with boa.fork(RPC_URL, block_identifier="latest", allow_dirty=True):
        token = boa.loads_vyi(ERC20).at(TOKEN)
        before = token.balanceOf(account.address)
        assert before > 0
        receiver = boa.env.generate_address()
        with boa.env.prank(account.address):
            token.transfer(receiver, before)
        assert (token.balanceOf(account.address), token.balanceOf(receiver)) == (0, before)
    boa.set_network_env(RPC_URL)
    boa.env.add_account(account)
    assert boa.loads_vyi(ERC20).at(TOKEN).balanceOf(account.address) == before
    print("a fork reads the chain's state and changes its copy")


if __name__ == "__main__":
    owner = Account.from_key(os.environ["PRIVATE_KEY"])
    use_network(owner)
    use_fork(owner)
