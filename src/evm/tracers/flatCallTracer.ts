import { bytesToHex } from '../../primitives/bytes.ts'
import { type CallFrame, createCallTree } from './callTracer.ts'
import { quantity, readSwitch, type TraceCollector, type TraceContext, type TracerConfig } from './traceCollector.ts'

type Json = Readonly<Record<string, unknown>>

const PARITY_ERRORS: readonly (readonly [start: string, parity: string])[] = [
  ['contract creation code storage out of gas', 'Out of gas'],
  ['out of gas', 'Out of gas'],
  ['gas uint64 overflow', 'Out of gas'],
  ['max code size exceeded', 'Out of gas'],
  ['invalid jump destination', 'Bad jump destination'],
  ['execution reverted', 'Reverted'],
  ['return data out of bounds', 'Out of bounds'],
  ['stack limit reached', 'Out of stack'],
  ['precompiled failed', 'Built-in failed'],
  ['invalid input length', 'Built-in failed'],
  ['invalid opcode:', 'Bad instruction'],
  ['stack underflow', 'Stack underflow'],
]

/**
 * Creates geth's flatCallTracer: the calls in one list, each with its path in the tree. Options:
 * `convertParityErrors`, `includePrecompiles` (calls to standard precompiles are left out
 * otherwise).
 */
export function createFlatCallTracer(config: TracerConfig, context: TraceContext): TraceCollector {
  const convertsErrors = readSwitch(config, 'convertParityErrors')
  const includesPrecompiles = readSwitch(config, 'includePrecompiles')
  const tree = createCallTree({ onlyTopCall: false, withLog: false }, context)
  const describe = (error: string): string => (convertsErrors ? parityError(error) : error)
  const blockFields = {
    blockHash: context.blockHash === undefined ? null : bytesToHex(context.blockHash),
    blockNumber: context.blockNumber,
  }
  const transactionFields = {
    transactionHash: context.transactionHash === undefined ? null : bytesToHex(context.transactionHash),
    transactionPosition: context.transactionIndex,
  }

  const flatten = (frame: CallFrame, traceAddress: readonly number[], out: Json[]): Json[] => {
    const calls = includesPrecompiles ? frame.calls : frame.calls.filter((call) => !isPlainPrecompileCall(call))
    const { error } = frame
    const showsResult = error === undefined || error === 'execution reverted'
    const { type, action, result } = formatFrame(frame, traceAddress.length === 0)
    out.push({
      action,
      ...blockFields,
      ...(error === undefined ? {} : { error: describe(error) }),
      ...(result === undefined || !showsResult ? {} : { result }),
      subtraces: calls.length,
      traceAddress,
      ...transactionFields,
      type,
    })
    for (const [index, call] of calls.entries()) flatten(call, [...traceAddress, index], out)
    return out
  }
  return { tracer: tree.tracer, result: () => flatten(tree.root(), [], []) }
}

function isPlainPrecompileCall({ type, precompile }: CallFrame): boolean {
  return precompile && (type === 'CALL' || type === 'STATICCALL')
}

/** Formats a call in Parity's words: its kind, its request and its result. */
export function formatFrame(
  frame: CallFrame,
  isTop: boolean,
): { readonly type: string; readonly action: Json; readonly result: Json | undefined } {
  const from = bytesToHex(frame.from)
  const to = frame.to === undefined ? undefined : bytesToHex(frame.to)
  const gas = quantity(frame.gas)
  const gasUsed = quantity(frame.gasUsed)
  // Only a STATICCALL has no value; shown as 0 unless it is the top frame.
  const value = frame.value === undefined ? (isTop ? undefined : '0x0') : quantity(frame.value)
  const withValue = value === undefined ? {} : { value }
  switch (frame.type) {
    case 'SELFDESTRUCT':
      return { type: 'suicide', action: { address: from, balance: value, refundAddress: to }, result: undefined }
    case 'CREATE':
    case 'CREATE2':
      return {
        type: 'create',
        action: {
          creationMethod: frame.type.toLowerCase(),
          from,
          gas,
          init: bytesToHex(frame.input),
          ...withValue,
        },
        result: { ...(to === undefined ? {} : { address: to }), code: bytesToHex(frame.output), gasUsed },
      }
    default:
      return {
        type: 'call',
        action: { callType: frame.type.toLowerCase(), from, gas, input: bytesToHex(frame.input), to, ...withValue },
        result: { gasUsed, output: bytesToHex(frame.output) },
      }
  }
}

function parityError(error: string): string {
  return PARITY_ERRORS.find(([start]) => error.startsWith(start))?.[1] ?? error
}
