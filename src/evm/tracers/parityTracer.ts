import { bytesToHex } from '../../primitives/bytes.ts'
import type { Tracer } from '../tracer.ts'
import { type CallFrame, createCallTree } from './callTracer.ts'
import { combineTracers } from './combineTracers.ts'
import { formatFrame } from './flatCallTracer.ts'
import { createPrestateTracer } from './prestateTracer.ts'
import type { TraceCollector, TraceContext } from './traceCollector.ts'
import { createVmTracer } from './vmTracer.ts'

/** Parts of a trace: calls, their changes of the state, and every opcode. */
export type ParityTraceType = 'trace' | 'stateDiff' | 'vmTrace'

/** A call as Parity shows it: `{ type, action, error?, result, subtraces, traceAddress }`. */
export type ParityTrace = Readonly<Record<string, unknown>> & { readonly traceAddress: readonly number[] }

/** The outcome of a transaction with the requested traces; JSON-ready. */
export interface ParityTraceResult {
  /** hex */
  readonly output: string
  readonly stateDiff: unknown
  readonly trace: readonly ParityTrace[]
  readonly vmTrace: unknown
}

/** How geth's errors begin, and Parity's words for them as reth has them (revm-inspectors: fmt_error_msg). */
const ERRORS: readonly (readonly [start: string, parity: string])[] = [
  ['execution reverted', 'Reverted'],
  ['contract creation code storage out of gas', 'Out of gas'],
  ['out of gas', 'Out of gas'],
  ['gas uint64 overflow', 'Out of gas'],
  ['max code size exceeded', 'Out of gas'],
  ['max initcode size exceeded', 'Out of gas'],
  ['invalid jump destination', 'Bad jump destination'],
  ['invalid opcode', 'Bad instruction'],
  ['stack underflow', 'Stack underflow'],
  ['stack limit reached', 'Out of stack'],
  ['return data out of bounds', 'Out of bounds'],
  ['write protection', 'Mutable Call In Static Context'],
  ['invalid code: must not begin with 0xef', 'Invalid code'],
  ['contract address collision', 'Contract address collision'],
  ['insufficient balance for transfer', 'Insufficient balance for transfer'],
  ['max call depth exceeded', 'Max call depth exceeded'],
  ['nonce uint64 overflow', 'Nonce overflow'],
]
/** Whatever a precompile says. */
const PRECOMPILE_ERROR = 'Built-in failed'

/**
 * Traces in the form of Parity's `trace` module, as reth answers: calls in one list, each with its path in the tree; `stateDiff` and
 * `vmTrace` where they are asked for.
 */
export function createParityTracer(
  types: ReadonlySet<ParityTraceType>,
  context: TraceContext,
): Omit<TraceCollector, 'result'> & { readonly result: () => ParityTraceResult } {
  const tree = createCallTree({ onlyTopCall: false, withLog: false }, context)
  const frame = collectTopFrame()
  const diff = types.has('stateDiff') ? createPrestateTracer({ diffMode: true }, context) : undefined
  const vm = types.has('vmTrace') ? createVmTracer(context) : undefined
  return {
    tracer: combineTracers([tree.tracer, frame.tracer, ...[diff, vm].flatMap((part) => part?.tracer ?? [])]),
    result: () => {
      const root = tree.root()
      return {
        output: bytesToHex(root.output),
        stateDiff: diff === undefined ? null : toStateDiff(diff.result() as StateDifference),
        trace: types.has('trace') ? flatten({ ...root, ...frame.gas() }) : [],
        vmTrace: vm === undefined ? null : vm.result(),
      }
    },
  }
}

/** Collects the gas of a transaction's own frame as Parity counts it, without the cost of the transaction itself. */
function collectTopFrame() {
  let [gas, gasUsed] = [0n, 0n]
  const tracer: Tracer = {
    onEnter: (enter) => {
      if (enter.depth === 0) gas = enter.gas
    },
    onExit: (exit) => {
      if (exit.depth === 0) gasUsed = exit.gasUsed
    },
  }
  return { tracer, gas: () => ({ gas, gasUsed }) }
}

function flatten(frame: CallFrame, traceAddress: readonly number[] = [], out: ParityTrace[] = []): ParityTrace[] {
  // Parity and reth show no calls to precompiles but such that bring value.
  const calls = frame.calls.filter((call) => !call.precompile || (call.value ?? 0n) > 0n)
  const { error } = frame
  const { type, action, result } = formatFrame({ ...frame, value: frame.value ?? 0n }, false)
  out.push({
    type,
    action,
    ...(error === undefined ? {} : { error: describe(error, frame.precompile) }),
    result: resultOf(frame, result),
    subtraces: calls.length,
    traceAddress,
  })
  for (const [index, call] of calls.entries()) flatten(call, [...traceAddress, index], out)
  return out
}

/**
 * Returns nothing where gas ran out or the like. A creation that reverted has no contract, and
 * shows its return data.
 */
function resultOf({ error, gasUsed, output }: CallFrame, result: unknown): unknown {
  if (error === undefined) return result ?? null
  return error === 'execution reverted' ? { gasUsed: `0x${gasUsed.toString(16)}`, output: bytesToHex(output) } : null
}

function describe(error: string, isPrecompile: boolean): string {
  const known = ERRORS.find(([start]) => error.startsWith(start))?.[1]
  return known ?? (isPrecompile ? PRECOMPILE_ERROR : error)
}

/** An account of the prestate tracer, without empty fields. */
interface TracedAccount {
  readonly balance?: string
  readonly nonce?: number
  readonly code?: string
  readonly storage?: Readonly<Record<string, string>>
}

interface StateDifference {
  readonly pre: Readonly<Record<string, TracedAccount>>
  readonly post: Readonly<Record<string, TracedAccount>>
}

const ZERO_WORD = `0x${'0'.repeat(64)}`

/** Converts the difference, by address and field: `"="`, `{"+": new}`, `{"-": old}` or `{"*": {from, to}}`. */
function toStateDiff({ pre, post }: StateDifference): Readonly<Record<string, unknown>> {
  const addresses = [...new Set([...Object.keys(pre), ...Object.keys(post)])].sort()
  return Object.fromEntries(addresses.map((address) => [address, accountDiff(pre[address], post[address])]))
}

function accountDiff(before: TracedAccount | undefined, after: TracedAccount | undefined): unknown {
  const fields = ({ balance = '0x0', code = '0x', nonce = 0 }: TracedAccount) => ({
    balance,
    code,
    nonce: `0x${nonce.toString(16)}`,
  })
  const marked = (mark: '+' | '-', account: TracedAccount) =>
    Object.fromEntries(Object.entries(fields(account)).map(([name, value]) => [name, { [mark]: value }]))
  if (after === undefined) return { ...marked('-', before!), storage: {} }
  const slots = [...new Set([...Object.keys(before?.storage ?? {}), ...Object.keys(after.storage ?? {})])].sort()
  if (before === undefined) {
    const storage = slots.map((slot) => [slot, { '+': after.storage![slot] }])
    return { ...marked('+', after), storage: Object.fromEntries(storage) }
  }
  // For an account that was there before, `post` has the changes.
  const was = fields(before)
  const is = fields({ ...before, ...after })
  const change = (from: string, to: string) => (from === to ? '=' : { '*': { from, to } })
  const storage = slots.map((slot) => {
    return [slot, change(before.storage?.[slot] ?? ZERO_WORD, after.storage?.[slot] ?? ZERO_WORD)]
  })
  return {
    balance: change(was.balance, is.balance),
    code: change(was.code, is.code),
    nonce: change(was.nonce, is.nonce),
    storage: Object.fromEntries(storage),
  }
}
