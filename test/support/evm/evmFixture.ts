import type { Hardfork } from '../../../src/chain/genesis/hardfork.ts'
import type { BlockContext } from '../../../src/evm/blockContext.ts'
import type { Engine } from '../../../src/evm/engine.ts'
import { chooseEngine, createEngine } from '../../../src/evm/engines/createEngine.ts'
import type { StatefulPrecompile } from '../../../src/evm/precompile.ts'
import type { CallMessage, TransitionContext } from '../../../src/evm/transition.ts'
import { bytesKey, hexToBytes } from '../../../src/primitives/bytes.ts'
import { Journal } from '../../../src/state/journal.ts'
import { MemoryStateReader } from '../state/memoryReader.ts'
import { productionEngine } from './productionEngine.ts'

/** Both engines, which must not differ in anything. */
export const ENGINES: readonly Engine[] = [
  productionEngine,
  await createEngine(await chooseEngine('reference'), { hashSeed: 0n }),
]

export const SENDER = hexToBytes('0x1111111111111111111111111111111111111111')
export const CONTRACT = hexToBytes('0x2222222222222222222222222222222222222222')
export const OTHER = hexToBytes('0x3333333333333333333333333333333333333333')
export const COINBASE = hexToBytes('0x4444444444444444444444444444444444444444')
export const RICH = 10n ** 24n

export const BLOCK: BlockContext = {
  number: 100,
  timestamp: 1_700_000_000,
  timeMs: 1_700_000_000_000,
  gasLimit: 30_000_000n,
  coinbase: COINBASE,
  baseFeePerGas: 10n,
  prevRandao: new Uint8Array(32).fill(9),
  difficulty: 0n,
  blobBaseFee: 1n,
  blockHash: (number) => (number === 99 ? new Uint8Array(32).fill(0x63) : undefined),
}

/** A state in which SENDER is rich and CONTRACT has `code`. */
export function stateWith(code = ''): MemoryStateReader {
  const state = new MemoryStateReader()
  state.setAccount(SENDER, { balance: RICH })
  if (code !== '') state.setAccount(CONTRACT, { nonce: 1n, code: hexToBytes(code) })
  return state
}

export function contextOn(
  state: MemoryStateReader,
  options: { fork?: Hardfork; precompiles?: readonly StatefulPrecompile[] } & Partial<
    Omit<TransitionContext, 'precompiles'>
  > = {},
): TransitionContext & { world: Journal } {
  const { fork = 'osaka', precompiles = [], engine = productionEngine, ...rest } = options
  return {
    ...rest,
    world: new Journal(state),
    block: rest.block ?? BLOCK,
    rules: { fork, chainId: 7628n },
    engine,
    precompiles: new Map(precompiles.map((precompile) => [bytesKey(precompile.address), precompile])),
  }
}

/** A call to CONTRACT with a million gas. */
export function callOf(fields: Partial<CallMessage> = {}): CallMessage {
  return { sender: SENDER, to: CONTRACT, gasLimit: 1_000_000n, ...fields }
}
