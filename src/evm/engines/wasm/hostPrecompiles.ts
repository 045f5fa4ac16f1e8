import { CALL_DELEGATED, CALL_STATIC, RECORD_ADDRESS } from '../../../../assembly/evm/constants.ts'
import type { Address } from '../../../primitives/address.ts'
import { bytesKey, bytesToHex, EMPTY_BYTES } from '../../../primitives/bytes.ts'
import type { PrecompileCall, PrecompileResult, StatefulPrecompile } from '../../precompile.ts'
import { runStandardPrecompile } from '../../standard/runStandardPrecompile.ts'
import { tracedWorld } from '../../tracedWorld.ts'
import { EngineTrapError, isMachineFailure } from '../errorKinds.ts'
import { FAILURE_MESSAGES } from '../failureMessages.ts'
import type { RunState } from './runState.ts'

const ADDRESS_BYTES = 20
/** The answer for a precompile that takes all gas. */
const FAILED = -(1n << 63n)

/** Returns the engine's import that runs a precompile, of Ethereum's or of this chain's. */
export function precompileImports(run: RunState) {
  const address: Address = new Uint8Array(ADDRESS_BYTES)
  const beforeWrite = (): void => run.engine.prepareWrites()

  return {
    /** Returns the gas left of a success; -1 minus the gas left of a revert; the least i64 of a failure. */
    callPrecompile(
      record: number,
      caller: number,
      value: number,
      input: number,
      length: number,
      gas: bigint,
      flags: number,
    ): bigint {
      const { memory, environment, world } = run
      const { rules, precompileGas, block, tracer } = environment
      memory.read(record + RECORD_ADDRESS, address)
      const stateful = environment.precompiles.get(bytesKey(address))
      const result =
        stateful === undefined
          ? unbroken(address, () => {
              const data = memory.bytes.subarray(input, input + length)
              return runStandardPrecompile(address, data, gas, rules.fork, precompileGas)
            })
          : callStateful(run, stateful, {
              caller: memory.copy(caller, ADDRESS_BYTES),
              value: memory.readWord(value),
              // not a copy: a call with hardly any gas could make the node copy as many bytes as its caller has memory
              data: memory.bytes.subarray(input, input + length),
              gasLimit: gas,
              isStatic: (flags & CALL_STATIC) !== 0,
              isDelegated: (flags & CALL_DELEGATED) !== 0,
              world: tracedWorld(world, tracer),
              block,
              beforeWrite,
            })
      if (result.status === 'failure') {
        run.precompileFailure = result.failure ?? FAILURE_MESSAGES.internal
        writeOutput(run, EMPTY_BYTES)
        return FAILED
      }
      writeOutput(run, result.output)
      const left = gas - result.gasUsed
      return result.status === 'success' ? left : -1n - left
    },
  }
}

/**
 * Runs one of Ethereum's precompiles, which never throw. An error is this machine's or a defect,
 * and must not become an outcome: other nodes may not have it.
 */
function unbroken(address: Address, execute: () => PrecompileResult): PrecompileResult {
  try {
    return execute()
  } catch (error) {
    if (isMachineFailure(error)) throw error
    throw new EngineTrapError(`the precompile at ${bytesToHex(address)} broke: ${String(error)}`, error)
  }
}

/**
 * Runs a stateful precompile, which must not take more gas than it was given. One that throws ends
 * the run: a fault of the call is a result.
 */
function callStateful(
  { world, tracing }: RunState,
  precompile: StatefulPrecompile,
  call: PrecompileCall,
): PrecompileResult {
  const logsBefore = world.logs().length
  if (precompile.announcesWrites !== true) call.beforeWrite()
  const result = precompile.run(call)
  if (result.gasUsed > call.gasLimit) return failure(FAILURE_MESSAGES.outOfGas, call.gasLimit)
  if (tracing !== undefined && result.status === 'success') {
    for (const log of world.logs().slice(logsBefore)) tracing.log(log)
  }
  return result
}

function writeOutput({ memory, engine }: RunState, output: Uint8Array): void {
  // making room for the output can grow the memory, and a view of the memory before that has no bytes any more
  const own = output.buffer === memory.bytes.buffer ? output.slice() : output
  const at = engine.reserveOutput(own.length)
  memory.write(at, own)
}

function failure(message: string, gasUsed: bigint): PrecompileResult {
  return { status: 'failure', output: EMPTY_BYTES, gasUsed, failure: message }
}
