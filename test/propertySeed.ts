import fc from 'fast-check'
import './equalBytes.ts'

/**
 * Property tests draw the same values in each run, so that a change is not blamed for a failure that another seed would have found before
 * it. `PROPERTY_SEED=random npm test` draws new values; a number repeats the seed that a failure names. `npm run test:long` draws new and
 * more values (propertyRuns.ts).
 */
const seed = process.env['PROPERTY_SEED']

if (seed !== 'random') fc.configureGlobal({ seed: Number(seed ?? 7628) })
