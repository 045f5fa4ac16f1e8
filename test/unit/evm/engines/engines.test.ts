import { describe, expect, it } from 'vitest'
import type { Hardfork } from '../../../../src/chain/genesis/hardfork.ts'
import { ExecutionTimeout } from '../../../../src/evm/engine.ts'
import type { PrecompileCall, PrecompileResult, StatefulPrecompile } from '../../../../src/evm/precompile.ts'
import { type AppliedTransaction, applyCall, type CallMessage } from '../../../../src/evm/transition.ts'
import { bytesToHex, EMPTY_BYTES, hexToBytes } from '../../../../src/primitives/bytes.ts'
import { StateReadError } from '../../../../src/state/reader.ts'
import { DatabaseError } from '../../../../src/storage/database.ts'
import {
  BLOCK,
  CONTRACT,
  callOf,
  contextOn,
  ENGINES,
  OTHER,
  SENDER,
  stateWith,
} from '../../../support/evm/evmFixture.ts'
import type { MemoryStateReader } from '../../../support/state/memoryReader.ts'

const NATIVE = hexToBytes('0x0000000000000000000000000000000000000900')
const SLOT = new Uint8Array(32)
const WORD_1 = new Uint8Array(32).with(31, 1)

/** A precompile that counts in its storage, logs, and keeps the calls it saw. */
function counter(result: Partial<PrecompileResult> = {}): StatefulPrecompile & { readonly calls: PrecompileCall[] } {
  const calls: PrecompileCall[] = []
  return {
    address: NATIVE,
    calls,
    run(call) {
      calls.push(call)
      if (call.isDelegated) return { status: 'revert', output: Uint8Array.of(0xde), gasUsed: 5n }
      if (call.isStatic) return { status: 'failure', output: EMPTY_BYTES, gasUsed: 5n, failure: 'write protection' }
      const count = (call.world.getStorage(NATIVE, SLOT)[0] ?? 0) + 1
      call.world.setStorage(NATIVE, SLOT, Uint8Array.of(count))
      call.world.emitLog({ address: NATIVE, topics: [], data: Uint8Array.of(count) })
      return { status: 'success', output: WORD_1, gasUsed: 1_000n, ...result }
    },
  }
}

function stateWithNative(code: string): MemoryStateReader {
  const state = stateWith(code)
  state.setAccount(NATIVE, { nonce: 1n, code: hexToBytes('0x00') })
  return state
}

describe.each(ENGINES)('the $name engine', (engine) => {
  async function run(
    state: MemoryStateReader,
    options: Parameters<typeof contextOn>[1] = {},
    call: Partial<CallMessage> = {},
  ): Promise<AppliedTransaction & { readonly context: ReturnType<typeof contextOn> }> {
    const context = contextOn(state, { engine, ...options })
    const outcome = await applyCall({ ...context, call: callOf(call) })
    if (outcome.kind !== 'applied') throw new Error(outcome.reason)
    return { ...outcome, context }
  }

  const native = bytesToHex(NATIVE).slice(2)
  /** Code that calls NATIVE with `opcode` and 50,000 gas and leaves the success flag. */
  const callNative = (opcode: 'f1' | 'f2' | 'f4' | 'fa', value = '5f') =>
    `5f5f5f5f${opcode === 'f1' || opcode === 'f2' ? value : ''}73${native}61c350${opcode}`
  const returnTop = '5f5260205ff3'
  const log0 = '60aa5f5360015fa0'

  it.each([
    ['CREATE', '6002601e5ff0'],
    ['CREATE2', '5f6002601e5ff5'],
  ])('runs init code of %s that begins with 0xef00, which takes its gas', async (_, create) => {
    const { output, gasUsed } = await run(stateWith(`0x61ef005f52${create}${returnTop}`), {}, { gasLimit: 1_000_000n })
    expect(output).toEqual(new Uint8Array(32))
    expect(gasUsed).toBeGreaterThan(950_000n)
  })

  describe('stateful precompiles', () => {
    it('see who calls and may write and log', async () => {
      const precompile = counter()
      const { status, logs, context } = await run(
        stateWithNative(`0x${log0}${callNative('f1', '6007')}${log0}${returnTop}`),
        {
          precompiles: [precompile],
        },
        { value: 7n },
      )
      expect(status).toBe('success')
      expect(precompile.calls).toMatchObject([
        { caller: CONTRACT, value: 7n, isStatic: false, isDelegated: false, block: BLOCK },
      ])
      expect(context.world.getBalance(NATIVE)).toBe(7n)
      expect(logs.map(({ address }) => address)).toEqual([CONTRACT, NATIVE, CONTRACT])
    })

    it('are called by a transaction itself', async () => {
      const { status, output, gasUsed, logs } = await run(
        stateWithNative('0x00'),
        { precompiles: [counter()] },
        { to: NATIVE },
      )
      expect({ status, output, gasUsed }).toEqual({ status: 'success', output: WORD_1, gasUsed: 22_000n })
      expect(logs).toHaveLength(1)
    })

    it('are contracts to a tracer, which hears of what they touch before they do', async () => {
      const heard: unknown[] = []
      const context = contextOn(stateWithNative(`0x${callNative('f1')}${returnTop}`), {
        engine,
        precompiles: [counter()],
        tracer: {
          onEnter: ({ to, precompile }) => heard.push([bytesToHex(to), precompile]),
          onAccess: (account, slot) => heard.push([account, slot, context.world.getStorage(account, slot!)]),
          onLog: ({ address }) => heard.push(address),
        },
      })
      await applyCall({ ...context, call: callOf({}) })
      expect(heard).toEqual([
        [bytesToHex(CONTRACT), false],
        [bytesToHex(NATIVE), false],
        [NATIVE, SLOT, EMPTY_BYTES],
        [NATIVE, SLOT, EMPTY_BYTES],
        NATIVE,
      ])
    })

    it.each([
      ['DELEGATECALL', 'f4' as const, { isDelegated: true }],
      ['CALLCODE', 'f2' as const, { isDelegated: true }],
      ['STATICCALL', 'fa' as const, { isStatic: true }],
    ])('know a %s', async (_name, opcode, seen) => {
      const precompile = counter()
      const { output } = await run(stateWithNative(`0x${callNative(opcode)}${returnTop}`), {
        precompiles: [precompile],
      })
      expect(output).toEqual(new Uint8Array(32))
      expect(precompile.calls).toMatchObject([seen])
    })

    it('lose their writes, logs and value when a frame around them reverts', async () => {
      const { logs, context } = await run(
        stateWithNative(`0x${callNative('f1', '6007')}505f5ffd`),
        { precompiles: [counter()] },
        { value: 7n },
      )
      expect(logs).toEqual([])
      expect(context.world.changes().accounts.map(({ address }) => address)).toEqual([SENDER])
    })

    it.each<[string, Partial<PrecompileResult>, Partial<AppliedTransaction>]>([
      [
        'reverts',
        { status: 'revert', output: Uint8Array.of(1) },
        { status: 'revert', gasUsed: 22_000n, output: Uint8Array.of(1) },
      ],
      [
        'fails',
        { status: 'failure', failure: 'write protection' },
        { status: 'failure', gasUsed: 1_000_000n, failure: 'write protection' },
      ],
      [
        'takes more gas than it has',
        { gasUsed: 10n ** 9n },
        { status: 'failure', gasUsed: 1_000_000n, failure: 'out of gas' },
      ],
    ])('%s: what it wrote is undone', async (_name, result, expected) => {
      const { context, ...outcome } = await run(
        stateWithNative('0x00'),
        { precompiles: [counter(result)] },
        { to: NATIVE, value: 5n },
      )
      expect(outcome).toMatchObject({ ...expected, logs: [] })
      expect(context.world.getStorage(NATIVE, SLOT)).toEqual(EMPTY_BYTES)
      expect(context.world.getBalance(NATIVE)).toBe(0n)
    })

    it('change slots of their callers for good, though a frame fails that was the first to look', async () => {
      const writer: StatefulPrecompile = {
        address: NATIVE,
        run: ({ world, caller }) => {
          world.setStorage(caller, SLOT, Uint8Array.of(7))
          return { status: 'success', output: EMPTY_BYTES, gasUsed: 0n }
        },
      }
      const readAndRevert = '5b5f545f5ffd'
      const callItself = '5f5f60015f5f305af1'
      const main = `5f5450${callNative('f1')}50${callItself}505f54${returnTop}`
      const target = (4 + main.length / 2).toString(16).padStart(2, '0')
      const state = stateWithNative(`0x3660${target}57${main}${readAndRevert}`)
      state.setStorage(CONTRACT, SLOT, Uint8Array.of(5))
      const { status, output } = await run(state, { precompiles: [writer] })
      expect({ status, output }).toEqual({ status: 'success', output: new Uint8Array(32).with(31, 7) })
    })

    it('end the run where they throw, at any depth, and leave nothing', async () => {
      const thrower: StatefulPrecompile = {
        address: NATIVE,
        run: ({ world }) => {
          world.setStorage(NATIVE, SLOT, WORD_1)
          throw new TypeError('a bug')
        },
      }
      for (const to of [CONTRACT, NATIVE]) {
        const state = stateWithNative(`0x${callNative('f1')}${returnTop}`)
        await expect(run(state, { precompiles: [thrower] }, { to })).rejects.toThrow('a bug')
      }
    })

    it.each<[string, Error]>([
      ['of LevelDB', Object.assign(new Error('disk'), { code: 'LEVEL_IO_ERROR' })],
      ['of the database', new DatabaseError('corrupt', 'a file is damaged', undefined)],
      ['of a damaged state', new StateReadError(new Error('a contract code is missing'))],
      ['of memory', new RangeError('Array buffer allocation failed')],
      ['of the stack', new RangeError('Maximum call stack size exceeded')],
      ['of a bug', new TypeError('x is not a function')],
    ])('let failures %s through, which another machine may not have', async (_name, error) => {
      const failing: StatefulPrecompile = {
        address: NATIVE,
        run: () => {
          throw error
        },
      }
      await expect(run(stateWithNative('0x00'), { precompiles: [failing] }, { to: NATIVE })).rejects.toThrow(error)
    })

    it('end a run when code reads a state that cannot be read', async () => {
      const state = stateWithNative(`0x73${bytesToHex(OTHER).slice(2)}31`)
      const getAccount = state.getAccount.bind(state)
      state.getAccount = (address) => {
        if (bytesToHex(address) === bytesToHex(OTHER)) throw new StateReadError(new Error('damaged'))
        return getAccount(address)
      }
      await expect(run(state, { precompiles: [counter()] }, { to: CONTRACT })).rejects.toThrow(StateReadError)
    })

    it('are empty code to a delegation (EIP-7702)', async () => {
      const precompile = counter()
      const state = stateWithNative('0x00')
      state.setAccount(OTHER, { nonce: 1n, code: hexToBytes(`0xef0100${native}`) })
      const { gasUsed, status } = await run(state, { precompiles: [precompile] }, { to: OTHER })
      expect({ gasUsed, status }).toEqual({ gasUsed: 21_000n, status: 'success' })
      expect(precompile.calls).toEqual([])
    })
  })

  describe("failures in geth's words", () => {
    it.each<[string, string, string, Hardfork?]>([
      ['out of gas', '5b5f56', 'out of gas'],
      ['a jump to nowhere', '600156', 'invalid jump destination'],
      ['too few items', '600101', 'stack underflow (1 <=> 2)'],
      ['too few items for DUP3', '5f5f82', 'stack underflow (2 <=> 3)'],
      ['too many items', '5b5f5f56', 'stack limit reached 1024 (1023)'],
      ['INVALID', 'fe', 'invalid opcode: INVALID'],
      ['an undefined opcode', '0c', 'invalid opcode: opcode 0xc not defined'],
      ['an opcode of a later fork', '5f1e', 'invalid opcode: opcode 0x1e not defined', 'prague'],
      ['return data out of bounds', '60015f5f3e', 'return data out of bounds'],
      ['REVERT', '5f5ffd', 'execution reverted'],
    ])('%s', async (_name, code, failure, fork = 'osaka') => {
      // the loops that push, `5b 5f 5f 56`, leave an item behind each time round
      expect((await run(stateWith(`0x${code}`), { fork })).failure).toBe(failure)
    })

    // geth charges the price of a warm access before it looks at the memory.
    it.each<[string, string, bigint]>([
      ['EXTCODECOPY', '5f195f5f5f3c', 11n],
      ['CALL', '5f5f5f195f5f5f5ff1', 17n],
      ['STATICCALL', '5f5f5f195f5f5ffa', 15n],
    ])('%s with a length that overflows, and with too little gas to look', async (_name, code, pushes) => {
      const failureWith = async (gas: bigint) =>
        (await run(stateWith(`0x${code}`), {}, { gasLimit: 21_000n + pushes + gas })).failure
      expect([await failureWith(99n), await failureWith(100n)]).toEqual(['out of gas', 'gas uint64 overflow'])
    })

    it.each<[string, string, string]>([
      ['code that begins with 0xef', '60ef5f5360015ff3', 'invalid code: must not begin with 0xef'],
      ['code that is too long', '6160015ff3', 'max code size exceeded'],
    ])('a creation with %s', async (_name, code, failure) => {
      const outcome = await run(stateWith(), {}, { to: undefined, data: hexToBytes(code), gasLimit: 10_000_000n })
      expect(outcome.failure).toBe(failure)
    })

    it('a call with more value than there is', async () => {
      const context = contextOn(stateWith())
      const { world, block, rules, precompiles } = context
      world.beginTransaction()
      const result = await engine.run(
        { caller: OTHER, to: CONTRACT, value: 1n, data: EMPTY_BYTES, gasLimit: 1000n },
        { world, block, rules, precompiles, transaction: { origin: OTHER, gasPrice: 0n, blobHashes: [] } },
      )
      expect(result).toMatchObject({
        status: 'failure',
        failure: { message: 'insufficient balance for transfer' },
        gasUsed: 0n,
      })
    })
  })

  describe('runs that share a thread', () => {
    /** Counts in slot 0 as long as there is gas. */
    const counting = '0x5b5f54600101' + '5f55' + '5f56'

    /** The wasm engine does as much more in the same time. */
    const scale = engine.name === 'wasm' ? 50n : 1n
    const gasLimit = 1_000_000n * scale

    it('pause between slices and go on', async () => {
      let pauses = 0
      const pause = async () => {
        pauses++
        await new Promise((resolve) => setImmediate(resolve))
      }
      const quiet = await run(stateWith('0x5b5f56'), {}, { gasLimit })
      const paused = await run(stateWith('0x5b5f56'), { yield: pause }, { gasLimit })
      expect(pauses).toBeGreaterThan(5)
      expect(paused.gasUsed).toBe(quiet.gasUsed)
      expect(paused.failure).toBe(quiet.failure)
    })

    it('pause while their steps are traced, however slow the tracer is', async () => {
      let pauses = 0
      const tracer = { onOpcode: () => undefined }
      await run(stateWith('0x5b5f56'), { yield: async () => void pauses++, tracer })
      expect(pauses).toBeGreaterThan(5)
    })

    it('pause in calls that call themselves, and in long precompiles', async () => {
      for (const code of ['5b5f5f5f5f5f305af1505f56', `5b${'5f5f610800'}5f60025afa505f56`]) {
        let pauses = 0
        await run(stateWith(`0x${code}`), { yield: async () => void pauses++ }, { gasLimit: 4n * gasLimit })
        expect(pauses).toBeGreaterThan(0)
      }
    })

    it('are dropped by ExecutionTimeout, wherever they are', async () => {
      const outer = `0x5f5f5f5f5f73${bytesToHex(OTHER).slice(2)}5af100`
      const state = stateWith(outer)
      state.setAccount(OTHER, { nonce: 1n, code: hexToBytes(counting) })
      const drop = async () => {
        throw new ExecutionTimeout('time is up')
      }
      await expect(run(state, { yield: drop }, { gasLimit })).rejects.toBeInstanceOf(ExecutionTimeout)
      // the pooled instance that was dropped serves the next run
      expect((await run(stateWith('0x602a5f5260205ff3'))).output[31]).toBe(42)
    })

    it('do not see each other', async () => {
      let running = 0
      let most = 0
      const turn = async () => {
        running++
        most = Math.max(most, running)
        await new Promise<void>((resolve) => setImmediate(resolve))
        running--
      }
      const blockLimits = [200_000n, 400_000n, 600_000n]
      // counts to 0x2000, or 50 times as far, and returns GASLIMIT
      const end = (0x2000n * scale).toString(16).padStart(6, '0')
      const code = `0x5f5b6001018062${end}116001575045${returnTop}`
      const outputs = await Promise.all(
        blockLimits.map(async (blockLimit) => {
          const block = { ...BLOCK, gasLimit: blockLimit }
          const { output } = await run(stateWith(code), { yield: turn, block }, { gasLimit: 2n * gasLimit })
          return BigInt(bytesToHex(output))
        }),
      )
      expect(outputs).toEqual(blockLimits)
      expect(most).toBe(blockLimits.length)
    })
  })

  // EIP-152, test vector 4: no rounds
  const BLAKE2_STATE =
    '48c9bdf267e6096a3ba7ca8485ae67bb2bf894fe72f36e3cf1361d5f3af54fa5d182e6ad7f520e511f6c3e2b8c68059b6bbd41fbabd9831f79217e1319cde05b'
  const BLAKE2_RESULT =
    '08c9bcf367e6096a3ba7ca8485ae67bb2bf894fe72f36e3cf1361d5f3af54fa5d282e6ad7f520e511f6c3e2b8c68059b9442be0454267ce079217e1319cde05b'

  describe("Ethereum's precompiles", () => {
    const callPrecompile = async (number: number, input: string, fork: Hardfork = 'osaka') => {
      const to = new Uint8Array(20)
      to[18] = number >> 8
      to[19] = number & 0xff
      const { output, status, gasUsed } = await run(stateWith(), { fork }, { to, data: hexToBytes(input) })
      return { output: bytesToHex(output), status, gasUsed }
    }
    const word = (hex: string) => hex.padStart(64, '0')

    it('recovers a signer', async () => {
      // of the Ethereum wiki's example
      const input =
        '456e9aea5e197a1f1af7a3e85a3212fa4049a3ba34c2289b4c860fc0b0c64ef3' +
        word('1c') +
        '9242685bf161793cc25603c231bc2f568eb630ea16aa137d2664ac8038825608' +
        '4f8ae3bd7535248d0bd448298cc2e2071e56992d0774dc340c368ae950852ada'
      expect((await callPrecompile(1, input)).output).toBe(`0x${word('7156526fbd7a3c72969b54f64e42c10fbb768c8a')}`)
      expect((await callPrecompile(1, input.replace(word('1c'), word('1d')))).output).toBe('0x')
    })

    it.each<[string, number, string, string]>([
      ['sha256', 2, '', 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'],
      ['ripemd160', 3, '', word('9c1185a5c5e9fc54612808977ee8f548b2258d31')],
      ['identity', 4, 'c0ffee', 'c0ffee'],
      ['modexp', 5, `${word('1') + word('1') + word('1')}03050b`, '01'],
      ['bn254 add', 6, '', word('') + word('')],
      [
        'bn254 mul',
        7,
        word('1') + word('2') + word('2'),
        '030644e72e131a029b85045b68181585d97816a916871ca8d3c208c16d87cfd315ed738c0e0a7c92e7845f96b2ae9c0a68a6a449e3538fc7ff3ebf7a5a18a2c4',
      ],
      ['bn254 pairing', 8, '', word('1')],
      ['blake2f', 9, `00000000${BLAKE2_STATE}616263${'00'.repeat(125)}03${'00'.repeat(15)}01`, BLAKE2_RESULT],
      ['bls12-381 G1 add', 0x0b, word('').repeat(8), word('').repeat(4)],
      ['bls12-381 pairing', 0x0f, word('').repeat(12), word('1')],
    ])('%s', async (_name, number, input, output) => {
      expect(await callPrecompile(number, input)).toMatchObject({ output: `0x${output}`, status: 'success' })
    })

    it('verifies a point evaluation, and refuses a false one', async () => {
      // the constant polynomial 0 (go-ethereum's pointEvaluation vector form): commitment and proof at infinity
      const infinity = `c0${'00'.repeat(47)}`
      const versionedHash = '010657f37554c781402a22917dee2f75def7ab966d7b770905398eba3c444014'
      const good = versionedHash + word('7') + word('') + infinity + infinity
      const modulus = '73eda753299d7d483339d80809a1d80553bda402fffe5bfeffffffff00000001'
      expect(await callPrecompile(0x0a, good)).toMatchObject({
        status: 'success',
        output: `0x${word('1000')}${modulus}`,
      })
      const wrongValue = versionedHash + word('7') + word('1') + infinity + infinity
      const wrongHash = versionedHash.replace('0106', '0107') + word('7') + word('') + infinity + infinity
      const largeScalar = versionedHash + modulus + word('') + infinity + infinity
      const noPoint = `${versionedHash + word('7') + word('') + infinity}e0${'00'.repeat(47)}`
      for (const input of [wrongValue, wrongHash, largeScalar, noPoint, good.slice(2), '']) {
        expect(await callPrecompile(0x0a, input)).toMatchObject({ status: 'failure', gasUsed: 1_000_000n })
      }
    })

    it('verifies P-256 signatures from Osaka on (EIP-7951)', async () => {
      const input =
        'bb5a52f42f9c9261ed4361f59422a1e30036e7c32b270c8807a419feca6050232ba3a8be6b94d5ec80a6d9d1190a436effe50d85a1eee859b8cc6af9bd5c2e184cd60b855d442f5b3c7b11eb6c4e0ae7525fe710fab9aa7c77a67f79e6fadd762927b10512bae3eddcfe467828128bad2903269919f7086069c8c4df6c732838c7787964eaac00e5921fb1498a60f4606766b3d9685001558d1a974e7341513e'
      expect((await callPrecompile(0x100, input)).output).toBe(`0x${word('1')}`)
      expect((await callPrecompile(0x100, input.replace('bb5a', 'bb5b'))).output).toBe('0x')
      expect((await callPrecompile(0x100, input, 'prague')).output).toBe('0x')
    })

    it('costs modexp as the fork says (EIP-2565, EIP-7883)', async () => {
      const input = word('20').repeat(3) + 'ff'.repeat(96)
      const before = (await callPrecompile(5, input, 'cancun')).gasUsed
      const after = (await callPrecompile(5, input, 'osaka')).gasUsed
      // 16 · 255 / 3 became 16 · 255
      expect(after - before).toBe(4_080n - 1_360n)
    })
  })
})
