import { readFileSync } from 'node:fs'
import { compileContract } from '../../contracts/compile.ts'
import { create2Address, createAddress } from '../../src/evm/contractAddress.ts'
import type { Address } from '../../src/primitives/address.ts'
import { concatBytes, hexToBytes } from '../../src/primitives/bytes.ts'
import { keccak256 } from '../../src/primitives/hash.ts'
import { assemble, creationCode, repeat } from '../code/assemble.ts'
import { type Argument, callData, encodeArguments } from '../contracts/abi.ts'
import { uniswapFactoryCode } from '../contracts/deploy.ts'
import { tokenCode, transferData } from '../contracts/token.ts'
import { type Account, accountOf, FUNDER, GWEI, sign } from '../load/sign.ts'

/** A block's transactions of one kind. */
export interface Workload {
  readonly name: string
  readonly raws: readonly Uint8Array[]
}

export const ACCOUNTS: readonly Account[] = Array.from({ length: 1_000 }, (_, index) => accountOf(`parallel ${index}`))
const PAIRS = 20
const LIQUIDITY = 10n ** 25n
const SHARE = 10n ** 21n
const SETUP_GAS = 8_000_000n

/** Makes contracts and sends tokens to {@link ACCOUNTS}; afterwards blocks of each workload can be executed. */
class Setup {
  /** transactions of {@link FUNDER} and the accounts, in order */
  readonly raws: Uint8Array[] = []
  readonly #nonces = new Map<Account, bigint>()

  create(code: Uint8Array): Address {
    const address = createAddress(FUNDER.address, this.#nonces.get(FUNDER) ?? 0n)
    this.send(FUNDER, undefined, code)
    return address
  }

  deploy(name: string, ...values: readonly Argument[]): Address {
    const { bytecode } = compileContract('../bench/contracts/Bench.sol', name)
    return this.create(hexToBytes(bytecode + encodeArguments(values)))
  }

  send(account: Account, to: Address | undefined, data: Uint8Array, gasLimit = SETUP_GAS): void {
    this.raws.push(this.sign(account, { to, data, gasLimit }))
    this.#nonces.set(account, this.nonceOf(account) + 1n)
  }

  nonceOf(account: Account): bigint {
    return this.#nonces.get(account) ?? 0n
  }

  sign(account: Account, fields: Parameters<typeof sign>[1], later = 0): Uint8Array {
    const nonce = this.nonceOf(account) + BigInt(later)
    return hexToBytes(sign(account, { nonce, maxFeePerGas: 500n * GWEI, ...fields }).raw)
  }
}

/** @returns transactions to prepare the chain with, and the workloads on it */
export function createWorkloads(): { readonly setup: readonly Uint8Array[]; readonly workloads: readonly Workload[] } {
  const setup = new Setup()
  const factory = setup.create(uniswapFactoryCode(FUNDER.address))
  const tokens = Array.from({ length: PAIRS + 1 }, () => setup.create(tokenCode()))
  const distributor = setup.deploy('Distributor')
  for (const token of tokens) {
    setup.send(FUNDER, token, transferData(distributor, SHARE * BigInt(ACCOUNTS.length)))
    for (let at = 0; at < ACCOUNTS.length; at += 200) {
      const receivers = ACCOUNTS.slice(at, at + 200).map(({ address }) => address)
      const data = callData('giveTokens(address,address[],uint256)', token, receivers, SHARE)
      setup.send(FUNDER, distributor, data)
    }
  }
  const routers = tokens.slice(1).map((token) => {
    const pair = [tokens[0]!, token].sort(Buffer.compare) as [Address, Address]
    setup.send(FUNDER, factory, callData('createPair(address,address)', ...pair))
    const address = pairAddress(factory, pair)
    for (const sold of pair) setup.send(FUNDER, sold, transferData(address, LIQUIDITY))
    setup.send(FUNDER, address, callData('mint(address)', FUNDER.address))
    return setup.deploy('Router', address, ...pair)
  })
  for (const [index, account] of ACCOUNTS.entries()) {
    const at = index % PAIRS
    for (const token of [tokens[0]!, tokens[at + 1]!]) {
      for (const router of new Set([routers[0]!, routers[at]!])) {
        setup.send(account, token, callData('approve(address,uint256)', router, 10n ** 30n), 100_000n)
      }
    }
  }
  for (const account of ACCOUNTS) {
    setup.send(account, tokens[1]!, callData('approve(address,uint256)', routers[0]!, 10n ** 30n), 100_000n)
  }
  const storing = setup.create(creationCode(assemble(`${repeat(STORE_NEW, 20)} STOP`)))
  const hashing = setup.create(
    creationCode(assemble(`400 :next 0 MSTORE 4096 0 KECCAK256 POP 1 0 MLOAD SUB DUP1 @next JUMPI STOP`)),
  )

  const of = (
    name: string,
    count: number,
    fields: (index: number) => Parameters<typeof sign>[1],
    each = 1,
  ): Workload => ({
    name,
    raws: Array.from({ length: count }, (_, index) =>
      setup.sign(ACCOUNTS[Math.floor(index / each)]!, fields(index), index % each),
    ),
  })
  const swap = (router: Address) => ({
    to: router,
    data: callData('swap(bool,uint256,uint256)', true, 10n ** 15n, 1n),
    gasLimit: 200_000n,
  })
  const receiver = (index: number): Address => keccak256(Buffer.from(`receiver ${index}`)).slice(12)
  const transfer = (to: Address) => ({ to: tokens[0]!, data: transferData(to, 5n), gasLimit: 80_000n })
  return {
    setup: setup.raws,
    workloads: [
      of('plain transfers', 1_000, (index) => ({ to: receiver(index), value: 1n })),
      of('token transfers', 1_000, (index) => transfer(receiver(index))),
      of('token transfers, 5 of a sender', 1_000, (index) => transfer(receiver(index)), 5),
      of('token transfers to one account', 1_000, () => transfer(receiver(0))),
      of(`swaps on ${PAIRS} pairs`, 400, (index) => swap(routers[index % PAIRS]!)),
      of('swaps on one pair', 400, () => swap(routers[0]!)),
      of('20 new slots each', 200, () => ({ to: storing, gasLimit: 600_000n })),
      of('1.6 MB hashed each', 60, () => ({ to: hashing, gasLimit: 700_000n })),
    ],
  }
}

/** Stores at a slot of the sender's own: the hash of the sender and the gas that is left. */
const STORE_NEW = 'CALLER 0 MSTORE GAS 32 MSTORE 1 64 0 KECCAK256 SSTORE'

function pairAddress(factory: Address, pair: readonly [Address, Address]): Address {
  const path = new URL('../../node_modules/@uniswap/v2-core/build/UniswapV2Pair.json', import.meta.url)
  const { bytecode } = JSON.parse(readFileSync(path, 'utf8')) as { bytecode: string }
  return create2Address(factory, keccak256(concatBytes(...pair)), hexToBytes(`0x${bytecode.replace(/^0x/, '')}`))
}
