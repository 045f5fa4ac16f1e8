import { PHRASE_HELPERS, type Phrase, phraseSetup, randomPhrase } from './phrases.ts'
import { endless, type Program } from './program.ts'
import { createRandom, type Random } from './random.ts'
import type { Measure } from './testBed.ts'

interface SearchOptions {
  readonly measure: Measure
  readonly seed: number
  readonly seconds: number
  /** phrases with these words are left out: slow ones that are known hide others */
  readonly without: readonly string[]
}

/** Climbs from a new start, each with a share of the time. */
const CLIMBS = 6
const FIRST_LENGTH = 8
const MOST_PHRASES = 32
const GAS = 120_000
/** The quickest of so many runs counts. */
const RUNS = 3
/** A step must be slower by this factor, or it may be noise. */
const STEP = 1.01

/**
 * Searches at random for a loop that executes little gas per second: changes of a loop's phrases stay when they make it slower.
 * Returns the worst of each climb.
 */
export async function climb({ measure, seed, seconds, without }: SearchOptions): Promise<Program[]> {
  const found: Program[] = []
  for (let index = 0; index < CLIMBS; index++) {
    const random = createRandom(seed * 1_000 + index)
    const setup = phraseSetup(random)
    const allowed = (): Phrase => {
      for (;;) {
        const phrase = randomPhrase(random)
        if (!without.some((word) => phrase.includes(word))) return phrase
      }
    }
    let best = Array.from({ length: FIRST_LENGTH }, allowed)
    let bestTime = await nanosecondsPerGas(measure, toProgram(setup, best))
    for (const end = performance.now() + (seconds * 1_000) / CLIMBS; performance.now() < end; ) {
      const candidate = changed(best, random, allowed)
      const time = await nanosecondsPerGas(measure, toProgram(setup, candidate))
      if (time < bestTime * STEP) continue
      const again = await nanosecondsPerGas(measure, toProgram(setup, candidate))
      if (again < bestTime * STEP) continue
      best = candidate
      bestTime = Math.min(time, again)
    }
    found.push(toProgram(setup, best))
  }
  return found
}

function toProgram(setup: string, phrases: readonly Phrase[]): Program {
  const body = phrases.map((phrase, index) => phrase.replaceAll('#', String(index))).join(' ')
  const counts = Map.groupBy(phrases, (phrase) => phrase)
  const name = [...counts]
    .sort(([, a], [, b]) => b.length - a.length)
    .slice(0, 4)
    .map(([phrase, { length }]) => `${length} × ${phrase.length > 50 ? `${phrase.slice(0, 50)}…` : phrase}`)
    .join('; ')
  return { name: `found: ${name}`, code: endless(body, { setup, unroll: 1 }), helpers: PHRASE_HELPERS }
}

function changed(phrases: readonly Phrase[], random: Random, fresh: () => Phrase): Phrase[] {
  const copy = [...phrases]
  const at = random.below(copy.length)
  const kind = random.below(6)
  if (kind === 0 && copy.length < MOST_PHRASES) copy.splice(at, 0, fresh())
  else if (kind === 1 && copy.length > 1) copy.splice(at, 1)
  else if (kind === 2 && copy.length < MOST_PHRASES / 2) copy.push(...copy)
  else if (kind === 3) copy[at] = copy[random.below(copy.length)]!
  else if (kind === 4 && copy.length > 2) return copy.filter(() => random.below(2) === 0).concat(copy[at]!)
  else copy[at] = fresh()
  return copy
}

async function nanosecondsPerGas(measure: Measure, program: Program): Promise<number> {
  let best = Number.POSITIVE_INFINITY
  for (let run = 0; run < RUNS; run++) {
    const { gas, wallMs } = await measure(program, GAS, 1)
    best = Math.min(best, (wallMs * 1e6) / gas)
  }
  return best
}
