import { existsSync } from 'node:fs'
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import type { ConversionOptions } from '../../src/app/convertDatabase.ts'
import { dataPaths } from '../../src/app/dataDirectory.ts'

/** Converts the database of a data directory, and is killed by itself after the first step that changes something: `convertChild.ts HOMEDIR` */
const [homedir] = process.argv.slice(2)

const dieAfter = (step: string): void => {
  // At once, since the process does not live to flush a stream.
  process.stdout.write(step)
  process.kill(process.pid, 'SIGKILL')
}

const { rename, rm } = files
files.rename = async (from, to) => {
  await rename(from, to)
  dieAfter('rename')
}
files.rm = async (path, options) => {
  const existed = existsSync(path)
  await rm(path, options)
  if (existed) dieAfter('remove')
}
syncBuiltinESMExports()

const { openConverted } = await import('../../src/app/convertDatabase.ts')
const onProgress: ConversionOptions['onProgress'] = ({ step }) => {
  // A check changes nothing.
  if (step === 'converting') dieAfter('batch')
}
const database = await openConverted(dataPaths(homedir!), { batchBytes: 40_000, onProgress })
await database.close()
