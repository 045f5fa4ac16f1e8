import type { TransactionSerializable } from 'viem'
import { privateKeyToAccount } from 'viem/accounts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { assemble } from '../../../../bench/code/assemble.ts'
import { create2Address, createAddress } from '../../../../src/evm/contractAddress.ts'
import type { ParallelCounts } from '../../../../src/execution/parallel/parallelExecution.ts'
import { MsgSend } from '../../../../src/modules/bank/messages.ts'
import { FEE_COLLECTOR } from '../../../../src/modules/moduleAccounts.ts'
import { MsgCreatePermanentLockedAccount } from '../../../../src/modules/vesting/types.ts'
import { type Address, toBech32 } from '../../../../src/primitives/address.ts'
import { bigIntToBytes, bytesToHex, concatBytes, hexToBytes } from '../../../../src/primitives/bytes.ts'
import type { AnyValue } from '../../../../src/primitives/protoSchema.ts'
import { readStateHead } from '../../../../src/state/head.ts'
import { createViewCaches, openView } from '../../../../src/state/view.ts'
import { Database } from '../../../../src/storage/database.ts'
import { anyOf, signTestTransaction } from '../../../native/signTransaction.ts'
import { firstSeed, runs } from '../../../propertyRuns.ts'
import { createTestChain, type TestChain, type TestChainOptions } from '../../../support/execution/testChain.ts'
import { createRandom } from '../../../support/state/randomChain.ts'
import { step } from '../../../support/step.ts'

/** Few accounts, so that transactions meet. Coins of the last one are locked, and the filter of vesting accounts takes the one before for one. */
const KEYS = Array.from({ length: 7 }, (_, index) => bytesToHex(bigIntToBytes(BigInt(index + 1), 32)))
const ACCOUNTS = KEYS.map((key) => privateKeyToAccount(key))
const word = (value: bigint | `0x${string}`): Uint8Array => bigIntToBytes(BigInt(value), 32)

/** A token: calldata is a recipient and an amount; the slot of an account is its address. Balances wrap, so nobody needs any. */
const TOKEN = assemble(`
  32 CALLDATALOAD DUP1 CALLER SLOAD SUB CALLER SSTORE
  0 CALLDATALOAD SLOAD ADD 0 CALLDATALOAD SSTORE
  0 CALLDATALOAD CALLER 32 0 LOG2 STOP`)
/** Counts in one slot, and fails when calldata has an odd number; with 2 it runs out of gas. */
const COUNTER = assemble(`
  1 0 SLOAD ADD 0 SSTORE 0 CALLDATALOAD 1 AND @odd JUMPI 0 CALLDATALOAD 2 AND @loop JUMPI STOP
  :odd 0 0 REVERT :loop @loop JUMP`)
/** Stores the balance of the account in calldata, and things of the block, under the caller. */
const WATCHER = assemble(`
  0 CALLDATALOAD BALANCE 1 NUMBER SUB BLOCKHASH ADD COINBASE ADD SELFBALANCE ADD 0 CALLDATALOAD EXTCODEHASH ADD CALLER SSTORE
  STOP`)
/** Makes a contract by CREATE2 with the salt of calldata, whose init code stores something and destroys itself if calldata is odd. */
const INIT = assemble(`1 7 SSTORE CALLVALUE 1 AND @die JUMPI #60016000f3 :die CALLER SELFDESTRUCT`)
const MAKER = concatBytes(
  assemble(`
    #${bytesToHex(concatBytes(Uint8Array.of(0x5f + INIT.length), INIT)).slice(2)} 0 MSTORE
    0 CALLDATALOAD ${INIT.length} ${32 - INIT.length} 0 CALLDATALOAD 1 AND CREATE2 0 CALLDATALOAD SSTORE STOP`),
)
/** Calls the account in calldata with the rest of calldata and the value. */
const CALLER = assemble(`
  32 CALLDATASIZE SUB 32 0 CALLDATACOPY 0 0 32 CALLDATASIZE SUB 0 CALLVALUE 0 CALLDATALOAD GAS CALL 0 SSTORE STOP`)
/** Destroys itself in favour of the account in calldata: coins move, the contract stays (EIP-6780). */
const DESTROYER = assemble('0 CALLDATALOAD SELFDESTRUCT')
/** Recovers a signer so often as calldata says, of which a block has gas for some only. */
const RECOVERER = assemble(`
  0 CALLDATALOAD :next DUP1 ISZERO @end JUMPI 0 0 0 0 1 50000 STATICCALL 0 SLOAD ADD 0 SSTORE 1 SWAP1 SUB @next JUMP :end STOP`)

const CODES = [TOKEN, COUNTER, WATCHER, MAKER, CALLER, DESTROYER, RECOVERER]
const CONTRACTS = CODES.map((_, nonce) => bytesToHex(createAddress(hexToBytes(ACCOUNTS[0]!.address), BigInt(nonce))))
const [token, counter, watcher, maker, caller, destroyer, recoverer] = CONTRACTS as [`0x${string}`, ...`0x${string}`[]]
const NATIVE_TOKEN = '0xEeeeeEeeeEeEeeEeEeEeeEEEeeeeEeeeeeeeEEeE'

const FIELDS = {
  chainId: 76287,
  type: 'eip1559',
  gas: 400_000n,
  maxFeePerGas: 10n ** 10n,
  maxPriorityFeePerGas: 10n ** 9n,
} as const

/** Init code that returns `code`, which follows it. */
function creationOf(code: Uint8Array): `0x${string}` {
  const length = code.length.toString(16).padStart(2, '0')
  return `0x60${length}600a5f3960${length}5ff3${bytesToHex(code).slice(2)}`
}

const pad = (...values: readonly (bigint | `0x${string}`)[]): `0x${string}` =>
  bytesToHex(concatBytes(...values.map(word)))

/** Transactions of both kinds that get into each other's way, by a seed. */
class RandomBlocks {
  readonly #random: (below: number) => number
  readonly #nonces = ACCOUNTS.map((_, index) => (index === 0 ? CODES.length + 1 : 0))

  constructor(seed: number) {
    this.#random = createRandom(seed)
  }

  async next(count: number): Promise<Uint8Array[]> {
    const raws: Uint8Array[] = []
    for (let i = 0; i < count; i++) raws.push(await this.#transaction())
    return raws
  }

  /** Transfers that get into nobody's way. */
  async transfers(from: number, count: number): Promise<Uint8Array[]> {
    const raws: Uint8Array[] = []
    for (let i = 0; i < count; i++) {
      const fields = { ...FIELDS, nonce: this.#nonces[from]!++, to: token, data: pad(1n, 1n) } as const
      raws.push(hexToBytes(await ACCOUNTS[from]!.signTransaction(fields)))
    }
    return raws
  }

  async #transaction(): Promise<Uint8Array> {
    const random = this.#random
    const from = random(ACCOUNTS.length)
    const account = ACCOUNTS[from]!
    const nonce = this.#nonces[from]!++
    const other = ACCOUNTS[random(ACCOUNTS.length)]!.address
    const small = BigInt(random(8))
    const sign = async (fields: Partial<TransactionSerializable>): Promise<Uint8Array> =>
      hexToBytes(await account.signTransaction({ ...FIELDS, nonce, ...fields } as TransactionSerializable))
    // One that cannot start, which its sender repeats with the right nonce.
    if (random(60) === 0) {
      this.#nonces[from]!--
      return sign({ nonce: nonce + 3, to: other })
    }
    switch (random(14)) {
      case 0:
        return sign({ to: other, value: small, gas: 21_000n })
      case 1:
        if (random(3) > 0) return sign({ to: token, data: pad(other, small) })
        return this.#native(from, nonce, other)
      case 2:
      case 3:
      case 4:
        return sign({ to: token, data: pad(other, small) })
      case 5:
        return sign({ to: counter, data: pad(small) })
      case 6:
        return sign({ to: watcher, data: pad(random(3) === 0 ? bytesToHex(FEE_COLLECTOR) : other), value: small })
      case 7:
        return sign({ to: maker, data: pad(small), value: 1n })
      case 8:
        return sign({ to: caller, data: pad(token, other, small) })
      case 9:
        return sign({ to: caller, data: `${pad(NATIVE_TOKEN)}a9059cbb${pad(other, small).slice(2)}` })
      case 10:
        return sign({ to: destroyer, data: pad(random(3) === 0 ? bytesToHex(FEE_COLLECTOR) : other), value: small })
      case 11:
        return sign({ to: recoverer, data: pad(small * 8n) })
      case 12: {
        const authorization = await account.signAuthorization({
          chainId: FIELDS.chainId,
          address: random(3) === 0 ? '0x0000000000000000000000000000000000000000' : token,
          nonce: nonce + 1,
        })
        this.#nonces[from]!++
        return sign({
          type: 'eip7702',
          to: account.address,
          data: pad(other, small),
          authorizationList: [authorization],
        })
      }
      default:
        return sign({ data: creationOf(random(2) === 0 ? TOKEN : COUNTER), value: small })
    }
  }

  /** A send, or an account whose coins are locked where the contract of MAKER may be, or come to be. */
  #native(from: number, sequence: number, other: `0x${string}`): Uint8Array {
    const salt = word(BigInt(this.#random(8)))
    const message =
      this.#random(3) > 0
        ? payment(MsgSend, from, hexToBytes(other), 7n)
        : payment(MsgCreatePermanentLockedAccount, from, create2Address(hexToBytes(maker!), salt, INIT), 7n)
    return native(from, sequence, [message])
  }
}

function payment(
  type: typeof MsgSend | typeof MsgCreatePermanentLockedAccount,
  from: number,
  to: Address,
  amount: bigint,
): AnyValue {
  return anyOf(type, {
    fromAddress: toBech32(hexToBytes(ACCOUNTS[from]!.address)),
    toAddress: toBech32(to),
    amount: [{ denom: 'acoin', amount }],
  })
}

function native(from: number, sequence: number, messages: readonly AnyValue[]): Uint8Array {
  const signers = [{ privateKey: hexToBytes(KEYS[from]!), sequence }]
  return signTestTransaction({ messages, signers, gasLimit: 100_000n * BigInt(messages.length) })
}

/** A chain with the contracts. */
async function openChain(options: TestChainOptions): Promise<TestChain> {
  const fundedAccounts = ACCOUNTS.slice(0, -1).map(({ address }) => ({
    address: hexToBytes(address),
    balanceAcoin: 10n ** 21n,
  }))
  const chain = await createTestChain(
    { fundedAccounts, precompileGasLimit: 200_000n },
    { indexTraces: true, ...options },
  )
  const creations = CODES.map((code, nonce) =>
    ACCOUNTS[0]!.signTransaction({ ...FIELDS, gas: 3_000_000n, nonce, data: creationOf(code) }),
  )
  const [falseHit, last] = ACCOUNTS.slice(-2).map(({ address }) => hexToBytes(address)) as [Address, Address]
  // The filter knows the ends of addresses alone: 9 bytes.
  const sameEnd = concatBytes(new Uint8Array(11).fill(1), falseHit.subarray(11))
  const locked = native(0, CODES.length, [
    payment(MsgCreatePermanentLockedAccount, 0, last, 10n ** 20n),
    payment(MsgSend, 0, last, 3n * 10n ** 16n),
    payment(MsgCreatePermanentLockedAccount, 0, sameEnd, 1n),
  ])
  await chain.produce([...(await Promise.all(creations)).map(hexToBytes), locked])
  return chain
}

/** All that a chain stores of its newest block. */
async function newestBlock({ location }: TestChain): Promise<unknown> {
  const database = await Database.open(location, { readOnly: true })
  const snapshot = database.snapshot()
  try {
    const { chain } = openView(snapshot, createViewCaches())
    const height = chain.headHeight
    return {
      header: chain.header(height),
      receipts: chain.receipts(height),
      entries: chain.entryResults(height),
      events: chain.blockEvents(height),
      state: readStateHead(snapshot),
    }
  } finally {
    await snapshot.close()
    await database.close()
  }
}

describe('a block that is executed by several threads', () => {
  const counts = { adopted: 0, conflicts: 0, alone: 0 }
  const add = (more: ParallelCounts): void => {
    counts.adopted += more.adopted
    counts.conflicts += more.conflicts
    counts.alone += more.alone
  }
  const blocks = new RandomBlocks(firstSeed(1))
  let serial: TestChain
  let parallel: TestChain
  beforeAll(async () => {
    serial = await openChain({})
    parallel = await openChain({ executionThreads: 4, speculations: add })
  })
  afterAll(async () => {
    await serial.close()
    await parallel.close()
  })

  /** The next block of both chains: in turns one of them builds it, and the other checks it; or both get it as it is. */
  const next = async (round: number, raws: readonly Uint8Array[]): Promise<void> => {
    const [builder, checker] = round % 2 === 0 ? [serial, parallel] : [parallel, serial]
    const { block } = await builder.produce(raws, { asGiven: round % 3 === 0 })
    await checker.produce(block.txs, { asGiven: true })
    expect(await newestBlock(parallel)).toEqual(await newestBlock(serial))
  }

  it('has the results of one that is executed in order', async () => {
    await step('whatever meets in it', async () => {
      const rounds = runs(16)
      for (let round = 0; round < rounds; round++) await next(round, await blocks.next(40))
      expect(counts.adopted).toBeGreaterThan(0)
      expect(counts.conflicts).toBeGreaterThan(0)
      expect(counts.alone).toBeGreaterThan(0)
    })
    await step('with guesses for an account without locked coins, although the filter has it', async () => {
      const { adopted } = counts
      // Where the machine is busy, none of a block's guesses may be there in time.
      for (let round = 0; counts.adopted === adopted && round < 50; round++) {
        await next(0, await blocks.transfers(ACCOUNTS.length - 2, 5))
      }
      expect(counts.adopted).toBeGreaterThan(adopted)
    })
    await step('without guesses when one of the threads has ended', async () => {
      await parallel.speculators[1]!.stop()
      const before = { ...counts }
      for (let round = 0; round < 3; round++) await next(round, await blocks.next(20))
      expect(counts).toEqual(before)
    })
  })
})
