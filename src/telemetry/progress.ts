import { isatty } from 'node:tty'
import { createLineWriter } from './lineWriter.ts'
import type { Logger } from './logger.ts'

/** Shows how far one piece of long work is. Made by {@link startProgress}. */
export interface Progress {
  /**
   * Call it as often as there is news: most calls only read the clock.
   * @param done how much is done, in the unit that was given. The first value need not be 0: for work that resumes after an
   * interruption, the rate counts only what is new
   * @param total when it is known only now, or has changed
   */
  update(done: number, total?: number): void
  /** The work has ended, well or not: removes the bar. Lines stay, and none is added: the caller says what the result is. */
  end(): void
}

/** Unit of the counted work: things by their name ("blocks"), bytes, or a share from 0 to 1. */
export type ProgressUnit = 'blocks' | 'bytes' | 'entries' | 'chunks' | 'files' | 'share'

interface ProgressOptions {
  /** what is being done: "importing blocks" */
  readonly title: string
  readonly unit: ProgressUnit
  /** undefined: not known (yet) */
  readonly total?: number
  /** takes the lines; without it they are plain text on the standard error */
  readonly logger?: Pick<Logger, 'info'>
  /** where the bar and the plain lines go, and the clock (milliseconds, monotonic): those of the process, except in tests */
  readonly output?: ProgressOutput
  readonly nowMs?: () => number
}

/** Begins to show one part of long work; {@link startProgress} is one. */
export type ProgressOf = (part: Pick<ProgressOptions, 'title' | 'unit' | 'total'>) => Progress

interface ProgressOutput {
  /** columns of the terminal; undefined where the output is not a terminal */
  readonly columns: () => number | undefined
  readonly write: (text: string) => void
}

/** Work that is over sooner shows nothing. */
const FIRST_BAR_MS = 500
const BAR_MS = 200
const LINE_MS = 10_000

/**
 * Shows the progress of long work with its rate and the time left: as a bar in a terminal, elsewhere (a log collector, a pipe, a file)
 * as a line every ten seconds. It needs no timer, so it also works where the event loop has no turn; a bar that stands still means that the
 * work does.
 */
export function startProgress(options: ProgressOptions): Progress {
  const { title, unit, logger, output = standardError(), nowMs = () => performance.now() } = options
  let { total } = options
  const isBar = output.columns() !== undefined
  const rate = new SmoothedRate(nowMs())
  let nextMs = nowMs() + (isBar ? FIRST_BAR_MS : LINE_MS)
  let isDrawn = false
  return {
    update: (done, newTotal = total) => {
      total = newTotal
      const now = nowMs()
      rate.measure(done, now)
      if (now < nextMs) return
      nextMs = now + (isBar ? BAR_MS : LINE_MS)
      const perSecond = rate.perSecond()
      const report = { done, total, unit, perSecond, secondsLeft: secondsLeft(done, total, perSecond) }
      if (isBar) {
        output.write(barText(title, report, output.columns() ?? NARROW_COLUMNS))
        isDrawn = true
      } else if (logger !== undefined) {
        logger.info(reportFields(report), title)
      } else {
        output.write(`${title}: ${reportTexts(report).join(', ')}\n`)
      }
    },
    end: () => {
      if (isDrawn) output.write(`\r${CLEAR_LINE}`)
      isDrawn = false
      nextMs = Number.POSITIVE_INFINITY
    },
  }
}

const NARROW_COLUMNS = 40
/** ANSI: erases from the cursor to the end of the line */
const CLEAR_LINE = '\u001b[K'

const STDERR = 2
let written: ReturnType<typeof createLineWriter> | undefined

/** Returns the standard error. A reader that has stopped does not stop the work: see `createLineWriter`. */
function standardError(): ProgressOutput {
  return {
    columns: () => (isatty(STDERR) ? (process.stderr.columns ?? NARROW_COLUMNS) : undefined),
    write: (text) => {
      written ??= createLineWriter(STDERR, () => undefined)
      written.write(text, 0)
    },
  }
}

/** Over how many milliseconds a rate is smoothed: older measurements count e^-1 and less. */
const SMOOTHING_MS = 15_000
/** Shorter periods are measured together with the next one. */
const SHORTEST_MS = 100

/** The rate of something that grows, mainly that of the last {@link SMOOTHING_MS}: it follows a change, and does not jump. */
export class SmoothedRate {
  #measuredMs: number
  #measured: number | undefined
  /** what has grown, and in how many milliseconds, the older the less */
  #grown = 0
  #elapsedMs = 0

  constructor(nowMs: number) {
    this.#measuredMs = nowMs
  }

  /** @param value the first one is where counting begins; one below the last begins anew */
  measure(value: number, nowMs: number): void {
    const elapsedMs = nowMs - this.#measuredMs
    if (this.#measured === undefined || value < this.#measured) {
      this.#measured = value
      this.#measuredMs = nowMs
    } else if (elapsedMs >= SHORTEST_MS) {
      const weight = Math.exp(-elapsedMs / SMOOTHING_MS)
      this.#grown = this.#grown * weight + value - this.#measured
      this.#elapsedMs = this.#elapsedMs * weight + elapsedMs
      this.#measured = value
      this.#measuredMs = nowMs
    }
  }

  /** 0 while nothing is known */
  perSecond(): number {
    return this.#elapsedMs === 0 ? 0 : (this.#grown * 1000) / this.#elapsedMs
  }
}

/** @returns whole seconds; undefined when they are not known */
export function secondsLeft(done: number, total: number | undefined, perSecond: number): number | undefined {
  if (total === undefined) return undefined
  if (done >= total) return 0
  return perSecond > 0 ? Math.max(1, Math.round((total - done) / perSecond)) : undefined
}

interface Report {
  readonly done: number
  readonly total: number | undefined
  readonly unit: ProgressUnit
  readonly perSecond: number
  readonly secondsLeft: number | undefined
}

/** Returns 0 to 100, rounded down; undefined without a total. */
function percentOf({ done, total }: Report): number | undefined {
  if (total === undefined) return undefined
  return total <= 0 ? 100 : Math.min(100, Math.floor((done / total) * 100))
}

/** Returns the fields of a log line; the logger leaves out undefined ones. */
function reportFields(report: Report): Readonly<Record<string, number | undefined>> {
  const { done, total, unit, perSecond } = report
  const shared = { percent: percentOf(report), secondsLeft: report.secondsLeft }
  return unit === 'share' ? shared : { [unit]: done, total, ...shared, [`${unit}PerSecond`]: rounded(perSecond) }
}

/** Returns the same for people: "1,234 of 10,000 blocks", "12 %", "512 blocks/s", "17 s left". */
function reportTexts(report: Report): readonly string[] {
  const { done, total, unit, perSecond, secondsLeft } = report
  const texts: string[] = []
  if (unit === 'bytes') {
    texts.push(total === undefined ? bytesText(done) : `${bytesText(done)} of ${bytesText(total)}`)
  } else if (unit !== 'share') {
    texts.push(`${total === undefined ? '' : `${countText(done)} of `}${countText(total ?? done)} ${unit}`)
  }
  const percent = percentOf(report)
  if (percent !== undefined) texts.push(`${percent} %`)
  if (unit === 'bytes') texts.push(`${bytesText(perSecond)}/s`)
  else if (unit !== 'share') texts.push(`${countText(rounded(perSecond))} ${unit}/s`)
  if (secondsLeft !== undefined) texts.push(`${durationText(secondsLeft)} left`)
  return texts
}

const BAR_COLUMNS = 30

/**
 * Returns one line of the terminal, which replaces the one before. The cursor returns to its start:
 * a line of a log overwrites it.
 */
function barText(title: string, report: Report, columns: number): string {
  const percent = percentOf(report)
  const filled = Math.round(((percent ?? 0) * BAR_COLUMNS) / 100)
  const bar = percent === undefined ? '' : ` ${'█'.repeat(filled)}${'░'.repeat(BAR_COLUMNS - filled)}`
  const end = reportTexts(report).join(', ')
  // A line that is longer than the terminal is wide could not be overwritten.
  const withBar = `${title}${bar} ${end}`
  const text = withBar.length < columns ? withBar : `${title} ${end}`.slice(0, columns - 1)
  return `\r${text}${CLEAR_LINE}\r`
}

/** Rounds a rate; slow work has decimals: 0.25 blocks/s. */
function rounded(rate: number): number {
  return rate >= 10 ? Math.round(rate) : Math.round(rate * 100) / 100
}

function countText(count: number): string {
  return count.toLocaleString('en-US', { maximumFractionDigits: 2 })
}

/** Formats bytes in the units of disks: 1 MB is 1,000,000 bytes. */
export function bytesText(bytes: number): string {
  const units = ['bytes', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  for (; value >= 999.95 && unit < units.length - 1; unit++) value /= 1000
  return `${unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`
}

/** Formats a duration in its two largest units: "45 s", "3 min 20 s", "2 h 5 min", "3 d 4 h". */
function durationText(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  const hours = Math.floor(minutes / 60)
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}
