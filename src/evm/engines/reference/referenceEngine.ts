import { EVMError, type ExecResult, Message as FrameMessage } from '@ethereumjs/evm'
import { Address } from '@ethereumjs/util'
import { bytesToHex, EMPTY_BYTES, hexToBytes } from '../../../primitives/bytes.ts'
import type { Rules } from '../../blockContext.ts'
import type { Engine, ExecutionEnvironment, ExecutionResult, Message } from '../../engine.ts'
import { FAILURE_MESSAGES } from '../failureMessages.ts'
import { ChainEVM } from './chainEVM.ts'
import { failureMessage } from './failures.ts'
import { attachTracer } from './tracing.ts'

/**
 * Creates the engine on `@ethereumjs/evm`. Setting up an EVM costs as much as ten transfers, so
 * EVMs that are not running wait in a pool for each fork. Runs that interleave use one EVM each;
 * one whose run threw is in an unknown state and is never used again.
 * @param createEVM makes the EVMs of the pool; tests of the comparison of engines give EVMs with errors
 */
export function createReferenceEngine(createEVM = (rules: Rules): ChainEVM => new ChainEVM(rules)): Engine {
  const idle = new Map<string, ChainEVM[]>()
  return {
    name: 'reference',
    async run(message, environment) {
      const pool = poolOf(idle, environment.rules)
      const evm = pool.pop() ?? createEVM(environment.rules)
      let result: ExecutionResult
      try {
        evm.begin(environment)
        result = await runMessage(evm, message, environment)
      } finally {
        evm.end()
      }
      pool.push(evm)
      return result
    },
  }
}

function poolOf(idle: Map<string, ChainEVM[]>, { fork, chainId }: Rules): ChainEVM[] {
  const key = `${fork}:${chainId}`
  const pool = idle.get(key) ?? []
  idle.set(key, pool)
  return pool
}

async function runMessage(
  evm: ChainEVM,
  message: Message,
  environment: ExecutionEnvironment,
): Promise<ExecutionResult> {
  const { world, transaction } = environment
  if (world.getSpendable(message.caller) < message.value) {
    return failed(FAILURE_MESSAGES.insufficientBalance, 0n)
  }
  if (environment.tracer !== undefined) attachTracer(evm, environment)
  let result: ExecResult
  let createdAddress: Address | undefined
  try {
    const outcome = await evm.runCall({ message: topFrame(message, transaction.blobHashes), skipNonceIncrement: true })
    result = outcome.execResult
    createdAddress = outcome.createdAddress
  } catch (error) {
    if (!(error instanceof EVMError)) throw error
    return failed(FAILURE_MESSAGES.internal, message.gasLimit)
  }
  const gasUsed = clamp(result.executionGasUsed, message.gasLimit)
  const error = result.exceptionError?.error
  if (error === 'revert') return { status: 'revert', output: result.returnValue, gasUsed, gasRefund: 0n }
  // before Homestead a contract whose code could not be paid for remains, without code
  const keepsEmptyContract = error === 'code store out of gas' && evm.rules.fork === 'frontier'
  if (error !== undefined && !keepsEmptyContract) return failed(failureMessage(result), gasUsed)
  // EIP-6780: from Cancun only what this transaction created is deleted
  const onlyCreated = evm.common.isActivatedEIP(6780)
  for (const key of result.selfdestruct?.keys() ?? []) {
    const address = hexToBytes(key)
    if (!onlyCreated || world.isCreated(address)) world.markSelfDestructed(address)
  }
  return {
    status: 'success',
    output: result.returnValue,
    gasUsed,
    gasRefund: result.gasRefund ?? 0n,
    ...(createdAddress === undefined ? {} : { createdAddress: createdAddress.bytes }),
  }
}

function topFrame(message: Message, blobHashes: readonly Uint8Array[]): FrameMessage {
  return new FrameMessage({
    caller: new Address(message.caller),
    ...(message.to === undefined ? {} : { to: new Address(message.to) }),
    value: message.value,
    data: message.data,
    gasLimit: message.gasLimit,
    depth: 0,
    selfdestruct: new Map(),
    createdAddresses: new Set(),
    blobVersionedHashes: blobHashes.map(bytesToHex),
  })
}

function failed(message: string, gasUsed: bigint): ExecutionResult {
  return { status: 'failure', failure: { message }, output: EMPTY_BYTES, gasUsed, gasRefund: 0n }
}

function clamp(gas: bigint, limit: bigint): bigint {
  return gas < 0n ? 0n : gas > limit ? limit : gas
}
