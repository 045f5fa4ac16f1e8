import { describe, expect, it } from 'vitest'
import { createAddress } from '../../../../../src/evm/contractAddress.ts'
import { type ExecutionEnvironment, ExecutionTimeout, type Message } from '../../../../../src/evm/engine.ts'
import { EngineTrapError } from '../../../../../src/evm/engines/errorKinds.ts'
import { createWasmEngine } from '../../../../../src/evm/engines/wasm/wasmEngine.ts'
import type { FrameEnter, FrameExit } from '../../../../../src/evm/tracer.ts'
import { EMPTY_BYTES } from '../../../../../src/primitives/bytes.ts'
import { Journal } from '../../../../../src/state/journal.ts'
import { StateReadError } from '../../../../../src/state/reader.ts'
import {
  compileStandIn,
  FAIL,
  GROW,
  LEAVE,
  LOAD,
  PAUSE,
  REVERT,
  SUCCEED,
  TRAP,
  TRAP_LATE,
} from '../../../../support/evm/engines/wasm/standInModule.ts'
import { BLOCK, CONTRACT, OTHER, RICH, SENDER, stateWith } from '../../../../support/evm/evmFixture.ts'
import type { MemoryStateReader } from '../../../../support/state/memoryReader.ts'

const module = await compileStandIn()
const engineOf = () => createWasmEngine(module, { hashSeed: 1n })

function environmentOn(
  state: MemoryStateReader,
  fields: Partial<ExecutionEnvironment> = {},
): ExecutionEnvironment & { readonly world: Journal } {
  const world = new Journal(state)
  world.beginTransaction()
  world.setNonce(SENDER, 1n)
  return {
    block: BLOCK,
    transaction: { origin: SENDER, gasPrice: 0n, blobHashes: [] },
    rules: { fork: 'osaka', chainId: 7628n },
    precompiles: new Map(),
    ...fields,
    world,
  }
}

const messageOf = (data: readonly number[], fields: Partial<Message> = {}): Message => ({
  caller: SENDER,
  to: CONTRACT,
  value: 0n,
  data: Uint8Array.from(data),
  gasLimit: 1_000n,
  ...fields,
})

describe('results', () => {
  it.each([
    ['success', [LEAVE, 100], { status: 'success', gasUsed: 900n, output: Uint8Array.of(1) }],
    ['revert', [REVERT], { status: 'revert', gasUsed: 0n, output: Uint8Array.of(1) }],
    [
      'failure',
      [FAIL],
      { status: 'failure', gasUsed: 1_000n, output: EMPTY_BYTES, failure: { message: 'out of gas' } },
    ],
  ])('%s', async (_name, data, expected) => {
    const result = await engineOf().run(messageOf(data), environmentOn(stateWith()))
    expect(result).toEqual({ gasRefund: 0n, ...expected })
  })

  it('give back the gas that is too much for the engine', async () => {
    const run = (data: readonly number[]) =>
      engineOf().run(messageOf(data, { gasLimit: 1n << 64n }), environmentOn(stateWith()))
    expect((await run([SUCCEED])).gasUsed).toBe(0n)
    expect((await run([LEAVE, 10])).gasUsed).toBe((1n << 63n) - 12n)
    expect((await run([FAIL])).gasUsed).toBe(1n << 64n)
  })

  it('say so when the caller cannot pay', async () => {
    const result = await engineOf().run(messageOf([SUCCEED], { caller: OTHER, value: 1n }), environmentOn(stateWith()))
    expect(result).toMatchObject({ failure: { message: 'insufficient balance for transfer' }, gasUsed: 0n })
  })
})

describe('creations', () => {
  const created = createAddress(SENDER, 0n)
  const creation = (data: readonly number[], value = 3n) => messageOf(data, { to: undefined, value })

  it('make the account before the engine starts', async () => {
    const environment = environmentOn(stateWith())
    const { world } = environment
    const result = await engineOf().run(creation([SUCCEED]), environment)
    expect(result).toMatchObject({ status: 'success', createdAddress: created })
    expect([world.getNonce(created), world.getBalance(created), world.isCreated(created)]).toEqual([1n, 3n, true])
    expect(world.isWarmAddress(created)).toBe(true)
  })

  it.each([REVERT, FAIL])('leave nothing when they do not succeed', async (what) => {
    const environment = environmentOn(stateWith())
    expect(await engineOf().run(creation([what]), environment)).not.toHaveProperty('createdAddress')
    expect(environment.world.exists(created)).toBe(false)
    expect(environment.world.getBalance(SENDER)).toBe(RICH)
  })

  it('take all gas where the address is taken, and a tracer hears of it', async () => {
    const state = stateWith()
    state.setStorage(created, new Uint8Array(32), Uint8Array.of(1))
    const frames: (FrameEnter | FrameExit)[] = []
    const tracer = {
      onEnter: (enter: FrameEnter) => frames.push(enter),
      onExit: (exit: FrameExit) => frames.push(exit),
    }
    const environment = environmentOn(state, { tracer })
    const result = await engineOf().run(creation([SUCCEED]), environment)
    expect(result).toMatchObject({ failure: { message: 'contract address collision' }, gasUsed: 1_000n })
    expect(environment.world.getBalance(SENDER)).toBe(RICH)
    expect(frames).toMatchObject([
      { depth: 0, type: 'CREATE', from: SENDER, to: created, gas: 1_000n, value: 3n },
      { depth: 0, error: 'contract address collision', gasUsed: 1_000n, reverted: true },
    ])
  })
})

describe('slices', () => {
  it('let others run in between, on instances of their own', async () => {
    const engine = engineOf()
    let running = 0
    let most = 0
    const turn = async () => {
      most = Math.max(most, ++running)
      await new Promise<void>((resolve) => setImmediate(resolve))
      running--
    }
    const results = await Promise.all(
      [5, 3, 4].map((slices) => engine.run(messageOf([PAUSE, slices]), environmentOn(stateWith(), { yield: turn }))),
    )
    expect(results.map(({ output }) => output[0])).toEqual([1, 1, 1])
    expect(most).toBe(3)
    // all three are idle now: each has run once before
    expect((await engine.run(messageOf([SUCCEED]), environmentOn(stateWith()))).output[0]).toBe(2)
  })

  it('end with what the pause throws', async () => {
    const engine = engineOf()
    const drop = async () => {
      throw new ExecutionTimeout('time is up')
    }
    const environment = environmentOn(stateWith(), { yield: drop })
    await expect(engine.run(messageOf([PAUSE, 1]), environment)).rejects.toBeInstanceOf(ExecutionTimeout)
    environment.world.endTransaction({ clearEmpty: true })
  })
})

describe('instances', () => {
  const runs = async (engine: ReturnType<typeof engineOf>) =>
    (await engine.run(messageOf([SUCCEED]), environmentOn(stateWith()))).output[0]

  it('serve run after run', async () => {
    const engine = engineOf()
    expect([await runs(engine), await runs(engine), await runs(engine)]).toEqual([1, 2, 3])
  })

  it.each([TRAP, TRAP_LATE])('are never used again after a trap, which undoes what was done', async (what) => {
    const engine = engineOf()
    await runs(engine)
    const environment = environmentOn(stateWith('0x00'))
    const running = () => engine.run(messageOf([what], { value: 5n }), environment)
    expect(running).toThrow(EngineTrapError)
    expect(running).toThrow(/^the EVM broke: unreachable/)
    expect(environment.world.getBalance(SENDER)).toBe(RICH)
    environment.world.endTransaction({ clearEmpty: true })
    expect(await runs(engine)).toBe(1)
  })

  it.each([
    ['are never used again after the world threw', {}, 1],
    ['serve again after the world threw in a run with a limit of work', { workLimit: 1_000_000n }, 3],
  ])('%s', async (_what, limit, expected) => {
    const engine = engineOf()
    await runs(engine)
    const state = stateWith()
    const environment = environmentOn(state, limit)
    state.getAccount = () => {
      throw new StateReadError('disk')
    }
    const message = messageOf([LOAD], { to: OTHER })
    expect(() => engine.run(message, environment)).toThrow(StateReadError)
    expect(await runs(engine)).toBe(expected)
  })

  it('are let go when they have taken much memory', async () => {
    const engine = engineOf()
    await engine.run(messageOf([GROW]), environmentOn(stateWith()))
    expect(await runs(engine)).toBe(1)
  })
})
