import { describe, expect, it } from 'vitest'
import { create2Address } from '../../../src/evm/contractAddress.ts'
import { type AppliedTransaction, applyCall, type CallMessage } from '../../../src/evm/transition.ts'
import { nativeToken } from '../../../src/modules/bank/precompile/nativeToken.ts'
import { type Address, ZERO_ADDRESS } from '../../../src/primitives/address.ts'
import { bytesToBigInt, bytesToHex, hexToBytes } from '../../../src/primitives/bytes.ts'
import type { Journal } from '../../../src/state/journal.ts'
import { putSchedule, VESTING_KINDS } from '../../../src/state/vesting.ts'
import { BLOCK, CONTRACT, callOf, contextOn, ENGINES, OTHER, SENDER, stateWith } from '../../support/evm/evmFixture.ts'

const OTHER_HEX = bytesToHex(OTHER).slice(2)
const SELF_HEX = bytesToHex(CONTRACT).slice(2)
const hex = (number: number, bytes: number): string => number.toString(16).padStart(bytes * 2, '0')

/** Returns the word on top of the stack. */
const RETURN_WORD = '60005260206000f3'
const call = (value: number): string => `600060006000600061${hex(value, 2)}73${OTHER_HEX}5af1`
const create = (value: number): string => `6000600061${hex(value, 2)}f0`
const create2 = (value: number): string => `60076000600061${hex(value, 2)}f5`
const tokenTransfer = (value: number): string =>
  `63a9059cbb60e01b60005273${OTHER_HEX}60045261${hex(value, 2)}602452` + `6000600060446000600073${'ee'.repeat(20)}5af1`

const BALANCE = 1_000n
const LOCKED = 600n
/** What may leave of it. */
const FREE = 400

interface Locked {
  readonly world: Journal
  run(call: Partial<CallMessage>): Promise<AppliedTransaction>
}

describe.each(ENGINES.map((engine) => [engine.name, engine] as const))('a vesting account on %s', (_, engine) => {
  /** CONTRACT has `code` and {@link BALANCE}, of which {@link LOCKED} is locked. */
  function locked(code: string, account: Address = CONTRACT): Locked {
    const state = stateWith()
    state.setAccount(CONTRACT, { nonce: 1n, balance: BALANCE, code: hexToBytes(`0x${code}`) })
    const context = contextOn(state, { engine, precompiles: [nativeToken] })
    putSchedule(context.world.native, account, {
      kind: VESTING_KINDS.PERMANENT,
      originalVesting: LOCKED,
      startTime: 0n,
      endTime: 0n,
      periods: [],
    })
    const run = async (fields: Partial<CallMessage>): Promise<AppliedTransaction> => {
      const outcome = await applyCall({ ...context, call: callOf(fields) })
      if (outcome.kind === 'skipped') throw new Error(outcome.reason)
      return outcome
    }
    return { world: context.world, run }
  }

  it.each([
    ['a call', call],
    ['CREATE', create],
    ['CREATE2', create2],
    ["a transfer of the token's contract", tokenTransfer],
  ])('pays by %s what is not locked, and more fails as without funds', async (_what, code) => {
    const within = locked(code(FREE) + RETURN_WORD)
    expect(bytesToBigInt((await within.run({})).output)).not.toBe(0n)
    expect(within.world.getBalance(CONTRACT)).toBe(LOCKED)
    const beyond = locked(code(FREE + 1) + RETURN_WORD)
    const outcome = await beyond.run({})
    expect([outcome.status, bytesToBigInt(outcome.output)]).toEqual(['success', 0n])
    expect(beyond.world.getBalance(CONTRACT)).toBe(BALANCE)
  })

  it('shows all coins to code', async () => {
    expect(bytesToBigInt((await locked(`47${RETURN_WORD}`).run({})).output)).toBe(BALANCE)
    expect(bytesToBigInt((await locked(`73${SELF_HEX}31${RETURN_WORD}`).run({})).output)).toBe(BALANCE)
  })

  it('keeps its locked coins when its code destroys itself', async () => {
    const { world, run } = locked(`73${OTHER_HEX}ff`)
    const outcome = await run({})
    expect(outcome.transfers).toEqual([{ from: CONTRACT, to: OTHER, amountAcoin: BigInt(FREE) }])
    expect([world.getBalance(CONTRACT), world.getBalance(OTHER)]).toEqual([LOCKED, BigInt(FREE)])
  })

  it.each([OTHER_HEX, SELF_HEX])('keeps them when it is created and destroyed at once, in favour of %s', async (to) => {
    const initCode = to === OTHER_HEX ? `73${OTHER_HEX}ff` : '30ff'
    const bytes = hexToBytes(`0x${initCode}`)
    const stored = `${hex(0x5f + bytes.length, 1)}${initCode}600052`
    const creation = `600760${hex(bytes.length, 1)}60${hex(32 - bytes.length, 1)}6032f5`
    const address = create2Address(CONTRACT, Uint8Array.of(...new Uint8Array(31), 7), bytes)
    const { world, run } = locked(stored + creation, address)
    world.addBalance(address, LOCKED)
    const outcome = await run({})
    expect(outcome.status).toBe('success')
    expect(world.getBalance(address)).toBe(LOCKED)
    expect(world.getCode(address)).toHaveLength(0)
    expect(world.getBalance(OTHER)).toBe(to === OTHER_HEX ? 50n : 0n)
    expect(outcome.burns).toEqual(to === OTHER_HEX ? [] : [{ account: address, amountAcoin: 50n }])
  })

  it('can become a contract, whose locked coins stay locked', async () => {
    // Code that sends its whole balance to OTHER and returns the answer, behind init code that deploys it.
    const runtime = `600060006000600047${`73${OTHER_HEX}`}5af1${RETURN_WORD}`
    const size = runtime.length / 2
    const initCode = `60${hex(size, 1)}600c60003960${hex(size, 1)}6000f3${runtime}`
    const bytes = hexToBytes(`0x${initCode}`)
    const address = create2Address(CONTRACT, Uint8Array.of(...new Uint8Array(31), 7), bytes)
    // It creates what its call data say, with a value of 10.
    const { world, run } = locked(`3660006000376007366000600af5${RETURN_WORD}`, address)
    world.addBalance(address, LOCKED)
    const created = await run({ data: bytes })
    expect(bytesToBigInt(created.output)).toBe(bytesToBigInt(address))
    expect(world.getBalance(address)).toBe(LOCKED + 10n)
    const sent = await run({ to: address })
    expect(bytesToBigInt(sent.output)).toBe(0n)
    expect(world.getBalance(address)).toBe(LOCKED + 10n)
  })

  it('pays neither value nor gas with locked coins', async () => {
    const state = stateWith()
    const context = contextOn(state, { engine })
    const { world } = context
    const free = BigInt(FREE) * 100_000n
    putSchedule(world.native, SENDER, {
      kind: VESTING_KINDS.PERMANENT,
      originalVesting: world.getBalance(SENDER) - free,
      startTime: 0n,
      endTime: 0n,
      periods: [],
    })
    const attempt = (fields: Partial<CallMessage>) =>
      applyCall({ ...context, call: callOf({ to: OTHER, gasLimit: 21_000n, ...fields }) })
    const priced = { maxFeePerGas: 10n, maxPriorityFeePerGas: 0n }
    for (const value of [free + 1n, free - 209_999n]) {
      const outcome = await attempt({ value, ...(value > free ? {} : priced) })
      const reason = outcome.kind === 'skipped' ? outcome.reason : ''
      expect(reason).toMatch(new RegExp(`^insufficient funds for gas \\* price \\+ value: .* have ${free} want `))
    }
    expect((await attempt({ value: free - 210_000n, ...priced })).kind).toBe('applied')
    expect(world.getSpendable(SENDER)).toBe(0n)
  })

  it('frees coins by the time of the block', async () => {
    const { world, run } = locked(call(FREE + 300) + RETURN_WORD, ZERO_ADDRESS)
    const schedule = { kind: VESTING_KINDS.CONTINUOUS, originalVesting: LOCKED, periods: [] }
    const startTime = BigInt(BLOCK.timestamp) - 50n
    putSchedule(world.native, CONTRACT, { ...schedule, startTime, endTime: startTime + 101n })
    // 50 / 101 of 600 are 297.03
    expect(bytesToBigInt((await run({})).output)).toBe(0n)
    putSchedule(world.native, CONTRACT, { ...schedule, startTime, endTime: startTime + 100n })
    expect(bytesToBigInt((await run({})).output)).toBe(1n)
  })
})
