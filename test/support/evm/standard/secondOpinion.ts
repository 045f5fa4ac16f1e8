import { createCustomCommon, Mainnet } from '@ethereumjs/common'
import { EVM, EVMMockBlockchain, type ExecResult, NobleBLS, NobleBN254 } from '@ethereumjs/evm'
import type { Hardfork } from '../../../../src/chain/genesis/hardfork.ts'
import { evmCrypto } from '../../../../src/evm/engines/reference/evmCrypto.ts'
import { runStandardPrecompile } from '../../../../src/evm/standard/runStandardPrecompile.ts'
import { bytesToHex } from '../../../../src/primitives/bytes.ts'

/** The results that both implementations are compared by. */
interface Outcome {
  readonly output: string | undefined
  readonly gasUsed: bigint
}

const GAS_LIMIT = 30_000_000n

export function precompileAddress(number: number): Uint8Array {
  const address = new Uint8Array(20)
  address[18] = number >> 8
  address[19] = number & 0xff
  return address
}

export function ours(number: number, input: Uint8Array, fork: Hardfork = 'osaka', gasLimit = GAS_LIMIT): Outcome {
  const { status, output, gasUsed } = runStandardPrecompile(precompileAddress(number), input, gasLimit, fork)
  return { output: status === 'success' ? bytesToHex(output) : undefined, gasUsed }
}

const evms = new Map<Hardfork, EVM>()

/** The same by `@ethereumjs/evm` with its curves of noble; only its KZG proofs are verified by the reference engine's code. */
export async function theirs(
  number: number,
  input: Uint8Array,
  fork: Hardfork = 'osaka',
  gasLimit = GAS_LIMIT,
): Promise<Outcome> {
  let evm = evms.get(fork)
  if (evm === undefined) {
    const { kzg } = evmCrypto.custom
    const common = createCustomCommon({}, Mainnet, { hardfork: fork, customCrypto: kzg === undefined ? {} : { kzg } })
    evm = new EVM({
      common,
      blockchain: new EVMMockBlockchain(),
      stateManager: {} as unknown as EVM['stateManager'],
      bls: new NobleBLS(),
      bn254: new NobleBN254(),
    })
    evms.set(fork, evm)
  }
  const run = evm.precompiles.get(number.toString(16).padStart(40, '0'))!
  let result: ExecResult
  try {
    result = await run({ data: input, gasLimit, common: evm.common, _EVM: evm })
  } catch {
    return { output: undefined, gasUsed: gasLimit }
  }
  const { exceptionError, returnValue, executionGasUsed } = result
  return { output: exceptionError === undefined ? bytesToHex(returnValue) : undefined, gasUsed: executionGasUsed }
}
