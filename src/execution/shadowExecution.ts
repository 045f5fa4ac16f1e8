import type { BlockEvents, NativeEvent, NativeResult, ValueTransfer } from '../chain/block/entries.ts'
import type { Log } from '../chain/block/receipt.ts'
import type { Engine } from '../evm/engine.ts'
import { isMachineFailure, ShadowMismatchError } from '../evm/engines/errorKinds.ts'
import { describeStepDifference, firstDifferingStep, type TracedRun } from '../evm/engines/firstDifferingStep.ts'
import type { Tracer } from '../evm/tracer.ts'
import { bytesToHex } from '../primitives/bytes.ts'
import type { StateChanges } from '../state/changes.ts'
import type { BlockExecution } from './blockExecution.ts'
import type { Entry } from './entry.ts'
import type { EntryResult } from './executedBlock.ts'

/** An execution whose result can be checked before it is used. */
export interface CheckedExecution extends BlockExecution {
  /** @throws ShadowMismatchError when another engine got a different result for the block */
  check(): Promise<void>
}

/** Starts the block again on an engine, with a separate world over the parent's state. */
type BeginOn = (engine: Engine) => Promise<BlockExecution>

/**
 * Executes a block on two engines at once, each on its own journal, so that the second cannot change anything of the first. The first
 * engine's result is used. Results are compared after each transaction, the state at the block's end.
 */
export async function beginShadowed(
  begin: BeginOn,
  engines: { readonly engine: Engine; readonly shadow: Engine },
): Promise<CheckedExecution> {
  const primary = await begin(engines.engine)
  const block = new ShadowedBlock(begin, engines, primary.seed.number)
  const shadow = await block.asShadow('the start of the block', () => begin(engines.shadow))

  const both = async (entry: Entry, run: (execution: BlockExecution) => Promise<EntryResult>): Promise<EntryResult> => {
    const result = await run(primary)
    block.entries.push(entry)
    const other = await block.asShadow(nameOf(entry), () => run(shadow))
    const differences = differingResults(result, other)
    if (differences.length > 0) throw await block.mismatch(block.entries.length - 1, differences)
    return result
  }
  return {
    ...primary,
    apply: (entry, tracer) => both(entry, (execution) => execution.apply(entry, tracer)),
    tryApply: (entry, mayBeUndone) => both(entry, (execution) => execution.tryApply(entry, mayBeUndone)),
    end: () => {
      shadow.end()
      return primary.end()
    },
    check: async () => {
      const differences = [
        ...differingChanges(primary.world.changes(), shadow.world.changes()),
        ...differingEvents(primary.blockEvents(), shadow.blockEvents()),
      ]
      if (differences.length > 0) throw await block.stateMismatch(differences)
    },
  }
}

/** Finds out where two executions of a block began to differ. */
class ShadowedBlock {
  /** that were run or tried, in order */
  readonly entries: Entry[] = []
  readonly #begin: BeginOn
  readonly #engines: readonly [Engine, Engine]
  readonly #number: number

  constructor(begin: BeginOn, { engine, shadow }: { engine: Engine; shadow: Engine }, number: number) {
    this.#begin = begin
    this.#engines = [engine, shadow]
    this.#number = number
  }

  /** An error of the second engine is a difference too: the first one threw none. */
  async asShadow<T>(what: string, run: () => Promise<T>): Promise<T> {
    try {
      return await run()
    } catch (error) {
      if (isMachineFailure(error)) throw error
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
      throw this.#report(what, [`${this.#engines[1].name} threw ${text}`])
    }
  }

  /** Returns the error for the entry at `index` in `entries`, with the first step that differs. */
  async mismatch(index: number, differences: readonly string[]): Promise<ShadowMismatchError> {
    const [engine, shadow] = this.#engines
    const steps = await firstDifferingStep(this.#traced(engine, index), this.#traced(shadow, index))
    const where =
      steps === undefined
        ? 'no step differs between the two traces: the fault is outside the opcodes, or occurs only without tracing'
        : describeStepDifference(steps, [engine.name, shadow.name])
    return this.#report(nameOf(this.entries[index]!), [...differences, where])
  }

  /**
   * Returns the error for a state that differs at the block's end, with the entry after which it
   * differs.
   */
  async stateMismatch(differences: readonly string[]): Promise<ShadowMismatchError> {
    const executions = [await this.#begin(this.#engines[0]), await this.#begin(this.#engines[1])] as const
    const differing = () => differingChanges(executions[0].world.changes(), executions[1].world.changes())
    if (differing().length > 0) return this.#report('the start of the block', differing())
    for (const [index, entry] of this.entries.entries()) {
      for (const execution of executions) await execution.tryApply(entry)
      const found = differing()
      if (found.length > 0) return this.mismatch(index, found)
    }
    return this.#report('the whole block', [...differences, 'executed again, the engines agree'])
  }

  /** Runs the entry with a tracer, after those before it. */
  #traced(engine: Engine, index: number): TracedRun {
    return async (tracer: Tracer) => {
      const execution = await this.#begin(engine)
      for (const entry of this.entries.slice(0, index)) await execution.tryApply(entry)
      await execution.apply(this.entries[index]!, tracer)
    }
  }

  #report(what: string, lines: readonly string[]): ShadowMismatchError {
    const [engine, shadow] = this.#engines
    const head = `the engines ${engine.name} and ${shadow.name} differ in block ${this.#number}, ${what}`
    return new ShadowMismatchError([head, ...lines].join('\n'))
  }
}

function nameOf(entry: Entry): string {
  if ('reason' in entry) return `an entry that is not a transaction (${entry.reason})`
  if ('native' in entry) return `native transaction ${bytesToHex(entry.native.hash)}`
  return `transaction ${bytesToHex(entry.transaction.hash)}`
}

/** Longer values are cut in reports. */
const LONGEST_VALUE = 400

type Facts = ReadonlyMap<string, string>

/** Returns the differences between two results of a transaction, one line each. */
function differingResults(one: EntryResult, other: EntryResult): string[] {
  return differences(resultFacts(one), resultFacts(other))
}

/** Returns the differences between the state changes of two executions of a block. */
function differingChanges(one: StateChanges, other: StateChanges): string[] {
  return differences(changeFacts(one), changeFacts(other))
}

/** Returns the differences between the block events of two executions of a block. */
function differingEvents(one: BlockEvents, other: BlockEvents): string[] {
  return differences(eventFacts(one), eventFacts(other))
}

function differences(one: Facts, other: Facts): string[] {
  const lines: string[] = []
  for (const key of new Set([...one.keys(), ...other.keys()])) {
    const [first, second] = [one.get(key), other.get(key)]
    if (first !== second) lines.push(`${key}: ${shown(first)} and ${shown(second)}`)
  }
  return lines
}

function shown(value: string | undefined): string {
  if (value === undefined) return 'nothing'
  return value.length > LONGEST_VALUE ? `${value.slice(0, LONGEST_VALUE)}…` : value
}

function resultFacts(result: EntryResult): Facts {
  if (result.kind === 'skipped') return new Map([['skipped', result.reason]])
  if (result.kind === 'native') return nativeFacts(result.result)
  const { status, gasUsed, logs, contractAddress } = result.receipt
  return new Map([
    ['status', String(status)],
    ['gas used', String(gasUsed)],
    ['contract address', contractAddress === undefined ? 'none' : bytesToHex(contractAddress)],
    ['logs', logs.map(logText).join(' ')],
    ['transfers', result.transfers.map(transferText).join(' ')],
    ['events', result.events.map(eventText).join(' ')],
  ])
}

function eventFacts({ begin, end }: BlockEvents): Facts {
  return new Map([
    ['events of its start', begin.map(eventText).join(' ')],
    ['events of its end', end.map(eventText).join(' ')],
  ])
}

function nativeFacts({ code, codespace, log, data, gasUsed, events }: NativeResult): Facts {
  return new Map([
    ['code', `${codespace} ${code} ${log}`],
    ['data', bytesToHex(data)],
    ['gas used', String(gasUsed)],
    ['events', events.map(eventText).join(' ')],
  ])
}

function transferText({ from, to, amountAcoin }: ValueTransfer): string {
  return `${bytesToHex(from)}>${bytesToHex(to)}:${amountAcoin}`
}

function eventText({ type, attributes }: NativeEvent): string {
  return `${type}[${attributes.map(({ key, value }) => `${key}=${value}`).join()}]`
}

function logText({ address, topics, data }: Log): string {
  return `${bytesToHex(address)}[${topics.map(bytesToHex).join()}]${bytesToHex(data)}`
}

function changeFacts({ accounts, codes, native }: StateChanges): Facts {
  const facts = new Map<string, string>()
  for (const { address, current, wiped, slots } of accounts) {
    const name = `account ${bytesToHex(address)}`
    if (current === undefined) {
      facts.set(name, 'deleted')
    } else {
      facts.set(`${name} nonce`, String(current.nonce))
      facts.set(`${name} balance`, String(current.balance))
      facts.set(`${name} code hash`, bytesToHex(current.codeHash))
    }
    if (wiped) facts.set(`${name} storage`, 'wiped')
    for (const { slot, current: value } of slots) facts.set(`${name} slot ${bytesToHex(slot)}`, bytesToHex(value))
  }
  for (const { hash, code } of codes) facts.set(`code ${bytesToHex(hash)}`, bytesToHex(code))
  for (const { key, current } of native) {
    facts.set(`native ${bytesToHex(key)}`, current === undefined ? 'deleted' : bytesToHex(current))
  }
  return facts
}
