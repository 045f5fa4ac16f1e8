import { findMissingRows } from './findProblems.ts'

/** Part of `npm run check`: each message, function of a precompile, hook of blocks and view has a row in the metering. */
const missing = findMissingRows()
for (const problem of missing) console.log(problem)
console.log(`metering: ${missing.length} operations without a row`)
process.exitCode = missing.length === 0 ? 0 : 1
