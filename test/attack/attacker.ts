/**
 * A process that runs one attack. The first line of its standard input is {@link AttackerOptions} as JSON. It prints a line when it is
 * ready, begins with the second line and ends with the end of the input; then it prints its {@link AttackerReport}.
 */
import { once } from 'node:events'
import { setPriority } from 'node:os'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Run, Target } from './attack.ts'
import { createAddresses, ownAddress } from './attackerAddress.ts'
import { ATTACKS, STOP_ATTACKS } from './attacks.ts'

export interface AttackerOptions {
  readonly attack: string
  readonly size: number
  /** niceness: an attacker on another machine takes no processor time of the node */
  readonly niceness: number
  readonly target: Target
  /** number of the attack, by which its addresses are its own */
  readonly row: number
  /** whether nodes and attackers are on the loopback interface */
  readonly isLoopback: boolean
}

export interface AttackerReport {
  readonly counts: Readonly<Record<string, number>>
  /** share of one processor that the attacker had while it attacked */
  readonly processorShare: number
}

/** Milliseconds for what is under way when the attack ends. */
const END_MS = 1_000

const input = createInterface(process.stdin)
const [firstLine] = (await once(input, 'line')) as [string]
const { attack: name, size, niceness, target, row, isLoopback } = JSON.parse(firstLine) as AttackerOptions
setPriority(niceness)
const attack = [...ATTACKS, ...STOP_ATTACKS].find((candidate) => candidate.name === name)!
const counts = new Map<string, number>()
const stopping = new AbortController()
const run: Run = {
  target,
  from: ownAddress(row, isLoopback),
  size,
  signal: stopping.signal,
  count: (what, by = 1) => void counts.set(what, (counts.get(what) ?? 0) + by),
  freshAddress: createAddresses(row, isLoopback),
}

// Connections that the node breaks throw from timers and streams of the libraries.
const countThrown = (error: unknown): void => {
  if (!counts.has('thrown')) console.error(`${name}: ${error instanceof Error ? error.stack : String(error)}`)
  run.count('thrown')
}
process.on('uncaughtException', countThrown)
process.on('unhandledRejection', countThrown)

const begin = await attack.prepare(run)
console.log('ready')
await once(input, 'line')
const beginMs = performance.now()
const usage = process.cpuUsage()
input.on('close', () => stopping.abort())
await Promise.race([begin(), once(stopping.signal, 'abort').then(() => sleep(END_MS))])
// An attack that has nothing more to send ends with the others.
if (!stopping.signal.aborted) await once(stopping.signal, 'abort')
const { user, system } = process.cpuUsage(usage)
const report: AttackerReport = {
  counts: Object.fromEntries(counts),
  processorShare: (user + system) / 1_000 / (performance.now() - beginMs),
}
console.log(JSON.stringify(report))
process.exit()
