import { includesFork } from '../chain/genesis/hardfork.ts'
import { type Address, toAddress } from '../primitives/address.ts'
import { hexToBytes } from '../primitives/bytes.ts'
import type { Hash } from '../primitives/hash.ts'
import type { TransitionContext } from './transition.ts'

/** EIP-4788: each block begins with a call that stores its header's parent beacon block root. */
export const BEACON_ROOTS: Address = toAddress(hexToBytes('0x000F3df6D732807Ef1319fB7B8bB8522d0Beac02'))

/** EIP-2935: each block begins with a call that stores the parent's hash. */
export const HISTORY_STORAGE: Address = toAddress(hexToBytes('0x0000F90827F1C53a10cb7A02335B175320002935'))

/** The caller of EIP-4788 and EIP-2935. */
const SYSTEM_ADDRESS = hexToBytes('0xfffffffffffffffffffffffffffffffffffffffe')
const SYSTEM_CALL_GAS = 30_000_000n

export type SystemCallContext = Pick<
  TransitionContext,
  'world' | 'block' | 'rules' | 'engine' | 'precompiles' | 'hiddenPrecompiles' | 'precompileGas'
>

/**
 * Applies the start of a block, before its transactions: contracts store the parent's beacon root
 * (EIP-4788, from Cancun) and the parent's hash (EIP-2935, from Prague). Does nothing where a
 * contract is absent.
 */
export async function applyBlockStart(
  context: SystemCallContext & {
    readonly parentHash: Hash
    /** the block's own header field; undefined before Cancun */
    readonly parentBeaconBlockRoot: Hash | undefined
  },
): Promise<void> {
  const { parentHash, parentBeaconBlockRoot } = context
  const { fork } = context.rules
  if (includesFork(fork, 'cancun') && parentBeaconBlockRoot !== undefined) {
    await systemCall(context, BEACON_ROOTS, parentBeaconBlockRoot)
  }
  if (includesFork(fork, 'prague')) await systemCall(context, HISTORY_STORAGE, parentHash)
}

async function systemCall(
  { world, block, rules, engine, precompiles, hiddenPrecompiles, precompileGas }: SystemCallContext,
  to: Uint8Array,
  data: Uint8Array,
): Promise<void> {
  if (world.getCode(to).length === 0) return
  world.beginTransaction()
  const transaction = { origin: SYSTEM_ADDRESS, gasPrice: 0n, blobHashes: [] }
  await engine.run(
    { caller: SYSTEM_ADDRESS, to, value: 0n, data, gasLimit: SYSTEM_CALL_GAS },
    {
      world,
      block,
      rules,
      precompiles,
      transaction,
      ...(hiddenPrecompiles === undefined ? {} : { hiddenPrecompiles }),
      ...(precompileGas === undefined ? {} : { precompileGas }),
    },
  )
  world.endTransaction({ clearEmpty: true })
}
