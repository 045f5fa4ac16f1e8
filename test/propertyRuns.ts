/** How many times the usual number of random values a run looks at: 1 in `npm test`, more in `npm run test:long`. */
export const PROPERTY_RUNS = Number(process.env['PROPERTY_RUNS'] ?? 1)

/** The number of runs of a property, or of another random sample, that `npm test` has time for; more in the long run. */
export function runs(usual: number): number {
  return Math.ceil(usual * PROPERTY_RUNS)
}

/** The variants of a slow test that `npm test` has time for: the first ones; all of them in the long run. */
export function variants<const T>(all: readonly T[], usual: number): readonly T[] {
  return PROPERTY_RUNS > 1 ? all : all.slice(0, usual)
}

/** The seed that `usual` stands for: another one when `PROPERTY_SEED` asks for values that nobody has seen. */
export function firstSeed(usual: number): number {
  const seed = process.env['PROPERTY_SEED']
  if (seed === undefined) return usual
  return usual + (seed === 'random' ? Math.floor(Math.random() * 1e9) : Number(seed))
}
