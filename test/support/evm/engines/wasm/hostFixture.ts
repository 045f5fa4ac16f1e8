import { CODE_BYTES, CODE_LENGTH } from '../../../../../assembly/evm/constants.ts'
import type { Hardfork } from '../../../../../src/chain/genesis/hardfork.ts'
import { LinearMemory } from '../../../../../src/evm/engines/wasm/linearMemory.ts'
import type { EngineExports, RunState } from '../../../../../src/evm/engines/wasm/runState.ts'
import { createTracing } from '../../../../../src/evm/engines/wasm/wasmTracing.ts'
import type { StatefulPrecompile } from '../../../../../src/evm/precompile.ts'
import type { Tracer } from '../../../../../src/evm/tracer.ts'
import { bytesKey } from '../../../../../src/primitives/bytes.ts'
import { WebAssembly } from '../../../../../src/primitives/webAssembly.ts'
import { Journal } from '../../../../../src/state/journal.ts'
import type { MemoryStateReader } from '../../../state/memoryReader.ts'
import { BLOCK, SENDER } from '../../evmFixture.ts'

const PAGE = 65_536

/** A run on a journal, with a memory of one page that grows as room is asked for in place of the engine's. */
export interface HandMadeRun extends RunState {
  readonly world: Journal
  readonly grow: () => void
  /** Puts bytes into the memory; gives where they are. */
  place(bytes: Uint8Array): number
  /** Room of zeros. */
  room(length: number): number
}

export function handMadeRun(
  state: MemoryStateReader,
  options: { fork?: Hardfork; precompiles?: readonly StatefulPrecompile[]; tracer?: Tracer } = {},
): HandMadeRun {
  const { fork = 'osaka', precompiles = [], tracer } = options
  const raw = new WebAssembly.Memory({ initial: 1 })
  const memory = new LinearMemory(raw)
  let end = 1024
  const room = (length: number): number => {
    const at = end
    end = Math.ceil((end + length) / 16) * 16
    while (end > raw.buffer.byteLength) raw.grow(Math.ceil((end - raw.buffer.byteLength) / PAGE))
    return at
  }
  const world = new Journal(state)
  world.beginTransaction()
  const engine: EngineExports = {
    reset: () => undefined,
    reserveInput: room,
    reserveOutput: room,
    allocate: room,
    prepareWrites: () => undefined,
    newCode: (length) => {
      const entry = room(32)
      const bytes = room(length)
      memory.view.setUint32(entry + CODE_BYTES, bytes, true)
      memory.view.setUint32(entry + CODE_LENGTH, length, true)
      return entry
    },
    start: () => undefined,
    run: () => 0,
  }
  return {
    memory,
    engine,
    world,
    environment: {
      world,
      block: BLOCK,
      transaction: { origin: SENDER, gasPrice: 7n, blobHashes: [] },
      rules: { fork, chainId: 7628n },
      precompiles: new Map(precompiles.map((precompile) => [bytesKey(precompile.address), precompile])),
    },
    tracing: tracer === undefined ? undefined : createTracing(tracer, memory, 0n),
    openCheckpoints: 0,
    precompileFailure: '',
    grow: () => void raw.grow(1),
    room,
    place: (bytes) => {
      const at = room(bytes.length)
      memory.write(at, bytes)
      return at
    },
  }
}
