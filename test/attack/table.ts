import { type ClientReport, latency } from './goodClient.ts'
import { CALM_MS, type Figures } from './measure.ts'

export interface Row extends Figures {
  readonly name: string
  readonly what: string
}

/** The share of the quiet interval's p99, the milliseconds and the share of the memory that an attack should not cost more than. */
const AIMS = { intervalShare: 1.25, latencyMs: 250, memoryShare: 1.1 }
/** Of what is to stop the chain: milliseconds of intervals (p99) meanwhile and ten seconds later, and megabytes of memory. */
const STOP_AIMS = { intervalMs: 1_500, laterMs: 500, megabytes: 1_500 }

export const HEAD = `| attack | processor, of others | interval p50 | p99 | longest | p99 ${CALM_MS / 1_000} s later | client p50 | p99 | failed | MB before, most, after | honest links cut | what it did |
|---|---|---|---|---|---|---|---|---|---|---|---|`

/** A row of the table; what misses its aim is bold. */
export function lineOf(row: Row, { isStop, quiet }: { readonly isStop: boolean; readonly quiet: Row }): string {
  const { name, what, processorShare, othersShare, intervals, later, client, memory, brokenLinks, counts, text } = row
  const aimed = (text: string, isMet: boolean): string => (isMet ? text : `**${text}**`)
  const p99 = intervals.percentile(99)
  const latencyMs = latency(client, 99)
  const [before, most, after] = memory
  const did = [countsText(counts), text].filter((part) => part !== '').join('; ')
  const cells = [
    name,
    `${processorShare.toFixed(2)}, ${othersShare.toFixed(2)}`,
    String(intervals.percentile(50)),
    aimed(String(p99), p99 <= (isStop ? STOP_AIMS.intervalMs : quiet.intervals.percentile(99) * AIMS.intervalShare)),
    String(intervals.percentile(100)),
    aimed(String(later.percentile(99)), !isStop || later.percentile(99) <= STOP_AIMS.laterMs),
    latency(client, 50).toFixed(1),
    aimed(latencyMs.toFixed(1), latencyMs <= AIMS.latencyMs),
    aimed(failuresText(client), client.failures.length === 0),
    isStop
      ? `${before}, ${aimed(String(most), most <= STOP_AIMS.megabytes)}, ${after}`
      : `${before}, ${most}, ${aimed(String(after), after <= before * AIMS.memoryShare)}`,
    String(brokenLinks),
    did === '' ? what : `${what}: ${did}`,
  ]
  return `| ${cells.join(' | ')} |`
}

/** What a row misses of the criteria for a chain that strangers try to stop; empty is good. */
export function missed({ name, intervals, later, memory, failures }: Row): readonly string[] {
  const found = [...failures]
  const [p99, laterP99, most] = [intervals.percentile(99), later.percentile(99), memory[1]]
  if (!(p99 <= STOP_AIMS.intervalMs)) found.push(`interval p99 ${p99} ms, at most ${STOP_AIMS.intervalMs}`)
  if (!(laterP99 <= STOP_AIMS.laterMs)) found.push(`${laterP99} ms ten seconds later, at most ${STOP_AIMS.laterMs}`)
  if (!(most <= STOP_AIMS.megabytes)) found.push(`${most} MB, at most ${STOP_AIMS.megabytes}`)
  return found.map((failure) => `${name}: ${failure}`)
}

function countsText(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${count.toLocaleString('en')} ${name}`)
    .join(', ')
}

function failuresText({ latenciesMs, failures }: ClientReport): string {
  const first = failures[0] === undefined ? '' : ` (${failures[0].slice(0, 80)})`
  return `${failures.length} of ${latenciesMs.length}${first}`
}
