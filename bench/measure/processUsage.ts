import { readdirSync, readFileSync } from 'node:fs'

const MILLISECONDS_PER_TICK = 10

/** Returns the resident memory of a process in MB; NaN where there is no /proc. */
export function residentMegabytes(pid: number): number {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readProc(`/proc/${pid}/status`))?.[1]
  return kilobytes === undefined ? Number.NaN : Number(kilobytes) / 1024
}

/**
 * Returns the milliseconds of processor time that each thread of a process has used, by name;
 * threads of one name are added up.
 */
export function threadTimes(pid: number): Map<string, number> {
  const times = new Map<string, number>()
  for (const task of list(`/proc/${pid}/task`)) {
    const stat = readProc(`/proc/${pid}/task/${task}/stat`)
    const [, name = '', rest = ''] = /\((.*)\) (.*)/s.exec(stat) ?? []
    const fields = rest.split(' ')
    const ticks = Number(fields[11] ?? 0) + Number(fields[12] ?? 0)
    times.set(name, (times.get(name) ?? 0) + ticks * MILLISECONDS_PER_TICK)
  }
  return times
}

/** Returns the milliseconds of processor time of all programs on this machine. */
export function machineMs(): number {
  const [, user = 0, nice = 0, system = 0] = readProc('/proc/stat').split('\n', 1)[0]!.split(/\s+/).map(Number)
  return (user + nice + system) * MILLISECONDS_PER_TICK
}

/** Returns the milliseconds of processor time of a process and its children, also of those that have ended. */
export function familyMs(pid: number): number {
  const fields = readProc(`/proc/${pid}/stat`).replace(/.*\) /s, '').split(' ')
  // User and system time, its own and that of children that have ended: proc_pid_stat(5).
  const ticks = fields.slice(11, 15).reduce((sum, text) => sum + Number(text), 0)
  const children = readProc(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean)
  return children.reduce((sum, child) => sum + familyMs(Number(child)), ticks * MILLISECONDS_PER_TICK)
}

/** Returns what each thread used between two measurements, the busiest first. */
export function usedBetween(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): [string, number][] {
  return [...after]
    .map(([name, ms]): [string, number] => [name, ms - (before.get(name) ?? 0)])
    .filter(([, ms]) => ms > 0)
    .sort(([, a], [, b]) => b - a)
}

/** Reads a file of /proc; a thread may have ended since it was listed. */
function readProc(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

function list(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
