import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { buildTransaction } from '../../../src/chain/block/transaction.ts'
import { recoverSender } from '../../../src/chain/block/transactionSender.ts'
import { authorizationHash, codeDelegation } from '../../../src/evm/authorization.ts'
import { totalBurnt } from '../../../src/evm/coinMovements.ts'
import { createAddress } from '../../../src/evm/contractAddress.ts'
import type { TransactionStart } from '../../../src/evm/tracer.ts'
import {
  type AppliedTransaction,
  applyCall,
  applyTransaction,
  type CallMessage,
  type TransitionContext,
} from '../../../src/evm/transition.ts'
import { toChecksumAddress } from '../../../src/primitives/address.ts'
import { bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import { publicKeyToAddress, recoverPublicKey, signDigest } from '../../../src/primitives/secp256k1.ts'
import { runs } from '../../propertyRuns.ts'
import { signEvmTransaction } from '../../signEvmTransaction.ts'
import {
  BLOCK,
  COINBASE,
  CONTRACT,
  callOf,
  contextOn,
  OTHER,
  RICH,
  SENDER,
  stateWith,
} from '../../support/evm/evmFixture.ts'

/** Strict rules, as for a transaction, without the need for a signature. */
const STRICT = {}

async function apply(
  call: Partial<CallMessage>,
  context: TransitionContext,
  skipped?: Parameters<typeof applyCall>[0]['skipped'],
): Promise<AppliedTransaction> {
  const outcome = await applyCall({ ...context, call: callOf(call), ...(skipped === undefined ? {} : { skipped }) })
  if (outcome.kind !== 'applied') throw new Error(outcome.reason)
  return outcome
}

describe('a transaction that cannot start', () => {
  const sender = toChecksumAddress(SENDER)
  const fees = { maxFeePerGas: 20n, maxPriorityFeePerGas: 1n }

  it.each<[Partial<CallMessage>, string, Parameters<typeof contextOn>[1]?]>([
    [{ ...fees, nonce: 4n }, 'nonce too low: next nonce 5, tx nonce 4'],
    [{ ...fees, nonce: 6n }, 'nonce too high: next nonce 5, tx nonce 6'],
    [{ ...fees, type: 3 }, 'transaction type not supported: this chain takes no blob transactions'],
    [{ ...fees, type: 4 }, 'transaction type not supported', { fork: 'cancun' }],
    [{ ...fees, type: 4 }, `EIP-7702 transaction with empty auth list (sender ${sender})`],
    [{ ...fees, gasLimit: 2n ** 24n + 1n }, 'transaction gas limit too high (cap: 16777216, tx: 16777217)'],
    [
      { maxFeePerGas: 10n, maxPriorityFeePerGas: 11n },
      `max priority fee per gas higher than max fee per gas: address ${sender}, maxPriorityFeePerGas: 11, maxFeePerGas: 10`,
    ],
    [
      { maxFeePerGas: 9n, maxPriorityFeePerGas: 0n },
      `max fee per gas less than block base fee: address ${sender}, maxFeePerGas: 9, baseFee: 10`,
    ],
    [
      { ...fees, gasLimit: 21_000n, value: RICH },
      `insufficient funds for gas * price + value: address ${sender} have ${RICH} want ${RICH + 420_000n}`,
    ],
    [{ ...fees, gasLimit: 20_999n }, 'intrinsic gas too low: have 20999, want 21000'],
    [
      { ...fees, to: undefined, gasLimit: 53_000n, data: new Uint8Array(1) },
      'intrinsic gas too low: have 53000, want 53006',
    ],
    [
      { ...fees, gasLimit: 25_000n, data: new Uint8Array(200).fill(1) },
      'insufficient gas for floor data gas cost: have 25000, want 29000',
    ],
    [{ ...fees, gasLimit: 30_001n }, 'gas limit reached', { gasAvailable: 30_000n }],
    [
      { ...fees, to: undefined, data: new Uint8Array(49_153) },
      'max initcode size exceeded: code size 49153 limit 49152',
    ],
    [{ ...fees, type: 3 }, 'blob transaction missing blob hashes', { acceptsBlobs: true }],
    [
      { ...fees, type: 3, blobVersionedHashes: [new Uint8Array(32)] },
      'blob 0 has invalid hash version',
      { acceptsBlobs: true },
    ],
  ])('%o is skipped: %s', async (call, reason, options) => {
    const state = stateWith()
    state.setAccount(SENDER, { balance: RICH, nonce: 5n })
    const context = contextOn(state, options)
    const input = { sender: SENDER, to: OTHER, gasLimit: 1_000_000n, ...call }
    expect(await applyCall({ ...context, call: input, skipped: STRICT })).toEqual({ kind: 'skipped', reason })
    expect(context.world.changes()).toEqual({ accounts: [], codes: [], native: [] })
  })

  it('is refused from a contract (EIP-3607), but not from a delegating account (EIP-7702)', async () => {
    const state = stateWith()
    state.setAccount(SENDER, { balance: RICH, code: hexToBytes('0x00') })
    const call = { sender: SENDER, to: OTHER, gasLimit: 21_000n, ...fees }
    expect(await applyCall({ ...contextOn(state), call, skipped: STRICT })).toEqual({
      kind: 'skipped',
      reason: `sender not an eoa: address ${sender}, len(code): 1`,
    })
    state.setAccount(SENDER, { balance: RICH, code: codeDelegation(OTHER) })
    expect(await applyCall({ ...contextOn(state), call, skipped: STRICT })).toMatchObject({ status: 'success' })
  })

  it('is refused at the last nonce', async () => {
    const state = stateWith()
    const nonce = 2n ** 64n - 1n
    state.setAccount(SENDER, { balance: RICH, nonce })
    const call = { sender: SENDER, to: OTHER, gasLimit: 21_000n, nonce, ...fees }
    expect(await applyCall({ ...contextOn(state), call, skipped: STRICT })).toEqual({
      kind: 'skipped',
      reason: `nonce has max value: address ${sender}, nonce: ${nonce}`,
    })
  })
})

describe('applyTransaction', () => {
  it('moves value, raises the nonce and takes the fees', async () => {
    const key = new Uint8Array(32).fill(7)
    const transaction = signEvmTransaction(
      buildTransaction({
        type: 2,
        chainId: 7628n,
        gasLimit: 50_000n,
        maxFeePerGas: 100n,
        maxPriorityFeePerGas: 3n,
        to: OTHER,
        value: 5n,
      }),
      key,
    )
    const recovery = recoverSender(transaction, { chainId: 7628n, allowUnprotected: false })
    if ('reason' in recovery) throw new Error(recovery.reason)
    const { sender } = recovery
    const state = stateWith()
    state.setAccount(sender, { balance: 10n ** 9n })
    const context = contextOn(state)
    expect(await applyTransaction({ ...context, transaction, sender })).toEqual({
      kind: 'applied',
      status: 'success',
      gasUsed: 21_000n,
      maxGasUsed: 21_000n,
      effectiveGasPrice: 13n,
      logs: [],
      events: [],
      transfers: [],
      output: new Uint8Array(0),
      failure: undefined,
      createdAddress: undefined,
      fees: { baseFeeAcoin: 210_000n, tipAcoin: 63_000n, blobFeeAcoin: 0n },
      burns: [],
      blobGasUsed: 0n,
    })
    expect(context.world.getBalance(sender)).toBe(10n ** 9n - 5n - 273_000n)
    expect(context.world.getBalance(OTHER)).toBe(5n)
    expect(context.world.getNonce(sender)).toBe(1n)
  })

  it('neither makes nor loses coins, whatever the code does', async () => {
    // random code: pushes, arithmetic, calls with value, creations, self-destructs, reverts
    const opcode = fc.constantFrom(
      '5f',
      '6001',
      '30',
      '32',
      '33',
      '34',
      '47',
      '50',
      '80',
      '90',
      'f1',
      'f0',
      'ff',
      'fd',
      '00',
      '01',
      '55',
      `73${bytesToHex(OTHER).slice(2)}`,
    )
    await fc.assert(
      fc.asyncProperty(
        fc.array(opcode, { maxLength: 40 }),
        fc.boolean(),
        fc.bigInt({ min: 0n, max: 1000n }),
        async (code, creates, value) => {
          const state = stateWith(`0x${code.join('')}`)
          const context = contextOn(state)
          const outcome = await apply(
            {
              to: creates ? undefined : CONTRACT,
              data: creates ? hexToBytes(code.join('')) : new Uint8Array(0),
              value,
              maxFeePerGas: 30n,
              maxPriorityFeePerGas: 2n,
            },
            context,
            STRICT,
          )
          let difference = 0n
          for (const { previous, current } of context.world.changes().accounts) {
            difference += (current?.balance ?? 0n) - (previous?.balance ?? 0n)
          }
          const { baseFeeAcoin, tipAcoin } = outcome.fees
          expect(difference).toBe(-(baseFeeAcoin + tipAcoin + totalBurnt(outcome.burns)))
        },
      ),
      { numRuns: runs(150) },
    )
  })
})

describe('gas', () => {
  it('gives back at most a fifth for cleared storage (EIP-3529)', async () => {
    const state = stateWith('0x5f5f55') // SSTORE(0, 0)
    state.setStorage(CONTRACT, new Uint8Array(32), Uint8Array.of(1))
    // 21,000 + 2 + 2 + 2 for three opcodes are less than five times the refund of 4,800
    const { gasUsed } = await apply({}, contextOn(state))
    const charged = 21_000n + 4n + 5_000n
    expect(gasUsed).toBe(charged - 4_800n)
  })

  it('charges the floor of calldata (EIP-7623) from Prague on', async () => {
    const data = new Uint8Array(1000).fill(1)
    expect((await apply({ data }, contextOn(stateWith(), { fork: 'cancun' }))).gasUsed).toBe(37_000n)
    expect((await apply({ data }, contextOn(stateWith(), { fork: 'prague' }))).gasUsed).toBe(61_000n)
  })

  it('warms sender, recipient, coinbase and access list', async () => {
    const balanceOf = (address: Uint8Array) => `73${bytesToHex(address).slice(2)}3150`
    const gasOf = async (code: string, fields: Partial<CallMessage> = {}) =>
      (await apply(fields, contextOn(stateWith(`0x${code}`)))).gasUsed - 21_000n - 3n - 2n
    expect(await gasOf(balanceOf(OTHER))).toBe(2_600n)
    expect(await gasOf(balanceOf(OTHER), { accessList: [{ address: OTHER, storageKeys: [] }] })).toBe(2_400n + 100n)
    for (const warm of [SENDER, CONTRACT, COINBASE, new Uint8Array(20).fill(1, 19)]) {
      expect(await gasOf(balanceOf(warm))).toBe(100n)
    }
  })

  it('takes all gas of a failure and none but the used of a revert', async () => {
    expect(await apply({}, contextOn(stateWith('0xfe')))).toMatchObject({
      status: 'failure',
      gasUsed: 1_000_000n,
      failure: 'invalid opcode: INVALID',
    })
    expect(await apply({}, contextOn(stateWith('0x602a5f5260205ffd')))).toMatchObject({
      status: 'revert',
      gasUsed: 21_000n + 3n + 2n + 6n + 3n + 2n,
      failure: 'execution reverted',
      output: new Uint8Array(32).with(31, 42),
    })
  })
})

describe('creation', () => {
  it('tells the address, also when it fails', async () => {
    const expected = createAddress(SENDER, 0n)
    const context = contextOn(stateWith())
    // returns 1 byte of code, 0x00
    const created = await apply({ to: undefined, data: hexToBytes('0x60015ff3') }, context)
    expect(created).toMatchObject({ status: 'success', createdAddress: expected, output: Uint8Array.of(0) })
    expect(context.world.getCode(expected)).toEqual(Uint8Array.of(0))
    expect(context.world.getNonce(expected)).toBe(1n)
    const failed = await apply({ to: undefined, data: hexToBytes('0xfe') }, contextOn(stateWith()))
    expect(failed).toMatchObject({ status: 'failure', createdAddress: expected })
  })

  it('fails over an address with storage (EIP-7610)', async () => {
    const state = stateWith()
    const address = createAddress(SENDER, 0n)
    state.setAccount(address, { balance: 1n })
    state.setStorage(address, new Uint8Array(32), Uint8Array.of(1))
    const outcome = await apply({ to: undefined, data: hexToBytes('0x60015ff3') }, contextOn(state))
    expect(outcome).toMatchObject({ status: 'failure', failure: 'contract address collision', gasUsed: 1_000_000n })
  })
})

describe('self-destruct', () => {
  it('burns what a contract of the same transaction destroys to itself', async () => {
    const context = contextOn(stateWith())
    const outcome = await apply({ to: undefined, value: 77n, data: hexToBytes('0x30ff') }, context)
    expect(outcome).toMatchObject({ status: 'success', burns: [{ amountAcoin: 77n }] })
    expect(context.world.exists(createAddress(SENDER, 0n))).toBe(false)
  })

  it('burns nothing when the frame around it reverts', async () => {
    // CONTRACT creates, with value 77, a contract that self-destructs to itself, and reverts
    const code = '0x6130ff5f526002601e604df05f5ffd'
    const state = stateWith(code)
    state.setAccount(CONTRACT, { balance: 77n, nonce: 1n, code: hexToBytes(code) })
    expect(await apply({}, contextOn(state))).toMatchObject({ status: 'revert', burns: [] })
  })

  it('only moves the balance of an older contract', async () => {
    const context = contextOn(stateWith(`0x73${bytesToHex(OTHER).slice(2)}ff`))
    await apply({ value: 9n }, context)
    expect(context.world.getBalance(OTHER)).toBe(9n)
    expect(context.world.getCode(CONTRACT)).toHaveLength(22)
  })
})

describe('EIP-7702', () => {
  const key = new Uint8Array(32).fill(3)
  const authorize = (fields: { chainId: bigint; address: Uint8Array; nonce: bigint }) => {
    const signature = signDigest(authorizationHash(fields), key)
    return { ...fields, r: signature.r, s: signature.s, yParity: BigInt(signature.yParity) }
  }
  const good = authorize({ chainId: 7628n, address: OTHER, nonce: 0n })
  const authority = publicKeyToAddress(
    recoverPublicKey(authorizationHash(good), good.yParity === 1n ? 1 : 0, good.r, good.s)!,
  )

  it('sets a delegation, runs its code for the authority and refunds an account that exists', async () => {
    const state = stateWith()
    state.setAccount(OTHER, { nonce: 1n, code: hexToBytes('0x30602a55') }) // SSTORE(42, ADDRESS)
    const gasOf = async (context: TransitionContext) =>
      (await apply({ type: 4, to: authority, authorizationList: [good] }, context)).gasUsed
    const fresh = contextOn(state)
    const withoutRefund = await gasOf(fresh)
    expect(fresh.world.getCode(authority)).toEqual(codeDelegation(OTHER))
    expect(fresh.world.getNonce(authority)).toBe(1n)
    expect(fresh.world.getStorage(authority, new Uint8Array(32).with(31, 42))).toEqual(authority)
    state.setAccount(authority, { balance: 1n })
    const cap = withoutRefund / 5n
    expect(await gasOf(contextOn(state))).toBe(withoutRefund - (cap < 12_500n ? cap : 12_500n))
  })

  it.each([
    ['for another chain', authorize({ chainId: 1n, address: OTHER, nonce: 0n })],
    ['with another nonce', authorize({ chainId: 0n, address: OTHER, nonce: 1n })],
    ['with a high s', { ...good, s: 2n ** 255n + 2n ** 254n, yParity: 1n - good.yParity }],
    ['with parity 2', { ...good, yParity: 2n }],
    ['at the last nonce', authorize({ chainId: 0n, address: OTHER, nonce: 2n ** 64n - 1n })],
  ])('passes over an authorization %s', async (_name, authorization) => {
    const context = contextOn(stateWith())
    await apply({ type: 4, to: OTHER, authorizationList: [authorization] }, context)
    expect(context.world.getCode(authority)).toHaveLength(0)
    expect(context.world.getNonce(authority)).toBe(0n)
  })

  it('keeps delegations when the call fails, and clears one that names the zero address', async () => {
    const context = contextOn(stateWith('0xfe'))
    await apply({ type: 4, authorizationList: [good] }, context)
    expect(context.world.getCode(authority)).toEqual(codeDelegation(OTHER))
    const clearing = authorize({ chainId: 0n, address: new Uint8Array(20), nonce: 1n })
    await apply({ type: 4, authorizationList: [clearing] }, context)
    expect(context.world.getCode(authority)).toHaveLength(0)
  })

  it('tells a tracer who authorized', async () => {
    let start: TransactionStart | undefined
    const tracer = {
      onTransactionStart: (seen: TransactionStart) => {
        start = seen
      },
    }
    const context = { ...contextOn(stateWith('0x00')), tracer }
    await apply({ type: 4, authorizationList: [good, { ...good, yParity: 2n }] }, context)
    expect(start).toMatchObject({ from: SENDER, to: CONTRACT, coinbase: COINBASE, authorities: [authority] })
  })
})

describe('applyCall', () => {
  it('needs no funds for gas at price 0, and runs from any account at any nonce', async () => {
    const state = stateWith('0x3a5f5260205ff3') // returns GASPRICE
    state.setAccount(OTHER, { code: hexToBytes('0x00'), nonce: 9n })
    const outcome = await apply({ sender: OTHER, nonce: 3n }, contextOn(state))
    expect(outcome).toMatchObject({ status: 'success', output: new Uint8Array(32) })
    expect(outcome.fees).toEqual({ baseFeeAcoin: 0n, tipAcoin: 0n, blobFeeAcoin: 0n })
  })

  it('charges no fee to one that cannot pay it when that is allowed', async () => {
    const call = { sender: OTHER, maxFeePerGas: 50n, maxPriorityFeePerGas: 0n }
    const context = contextOn(stateWith())
    const outcome = await apply(call, context, { nonce: true, sender: true, gasFunds: true })
    expect(outcome.fees).toEqual({ baseFeeAcoin: 0n, tipAcoin: 0n, blobFeeAcoin: 0n })
    expect(outcome.effectiveGasPrice).toBe(10n)
    expect(context.world.getBalance(OTHER)).toBe(0n)
  })

  it('gives the fees inside the transaction to who routes them', async () => {
    const context = contextOn(stateWith())
    const routed: bigint[] = []
    await apply(
      { maxFeePerGas: 12n, maxPriorityFeePerGas: 2n },
      {
        ...context,
        routeFees: ({ baseFeeAcoin, tipAcoin }) => routed.push(baseFeeAcoin, tipAcoin),
      },
    )
    expect(routed).toEqual([210_000n, 42_000n])
  })

  it('sees the block', async () => {
    const read = async (opcodes: string, price = 0n) =>
      (await apply({ maxFeePerGas: price }, contextOn(stateWith(`0x${opcodes}5f5260205ff3`)))).output
    const word = (value: bigint) => hexToBytes(value.toString(16).padStart(64, '0'))
    expect(await read('43')).toEqual(word(100n))
    expect(await read('42')).toEqual(word(1_700_000_000n))
    expect(await read('44')).toEqual(BLOCK.prevRandao)
    expect(await read('46')).toEqual(word(7628n))
    expect(await read('48', 10n)).toEqual(word(10n))
    expect(await read('48')).toEqual(word(10n))
    expect(await read('606340')).toEqual(new Uint8Array(32).fill(0x63))
    expect(await read('606240')).toEqual(word(0n))
  })
})
