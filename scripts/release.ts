import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import manifest from '../package.json' with { type: 'json' }
import { planPlatform } from '../src/operator/supervise/checksums.ts'
import { NODE_PACKAGE, releaseArchive } from './releaseArchive.ts'
import { isBundled } from './runtimeFiles.js'

/**
 * Makes the archive of this version for machines like this one, and prints its checksum and its entry in a plan's info.
 *
 *   npm run release                                          in release/
 *   npm run release -- --url https://example.org/coind/      where the archive will be: a directory, or the archive itself
 *   npm run release -- --out DIRECTORY
 *
 * SOURCE_DATE_EPOCH (seconds) is the time of the files; that of the commit by default.
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url))
const { values } = parseArgs({
  options: { out: { type: 'string', default: join(ROOT, 'release') }, url: { type: 'string' } },
})
if (!isBundled()) fail('there is no bundle in dist/node: npm run build')
if (!existsSync(join(ROOT, 'node_modules', NODE_PACKAGE))) {
  fail(`the package ${NODE_PACKAGE}, which has the pinned Node.js, is not installed: npm ci without --omit=optional`)
}
if (values.url !== undefined && !URL.canParse(values.url))
  fail(`--url is ${JSON.stringify(values.url)}: it must be a URL, https://…`)

const name = `coind-${manifest.version}-${process.platform}-${process.arch}.tar.gz`
const archive = releaseArchive({ timeSeconds: timeSeconds() })
const sha256 = createHash('sha256').update(archive).digest('hex')
mkdirSync(values.out, { recursive: true })
writeFileSync(join(values.out, name), archive)
writeFileSync(join(values.out, `${name}.sha256`), `${sha256}  ${name}\n`)
console.log(`${join(values.out, name)} (${archive.length} bytes)`)
console.log(`sha256 ${sha256}`)
if (values.url !== undefined) {
  const url = new URL(values.url.endsWith('/') ? values.url + name : values.url)
  url.searchParams.set('checksum', `sha256:${sha256}`)
  const binaries = { [planPlatform(process.platform, process.arch)]: url.href.replace('sha256%3A', 'sha256:') }
  console.log(`info of a plan: ${JSON.stringify({ binaries })}`)
}

function timeSeconds(): number {
  const given = process.env.SOURCE_DATE_EPOCH
  const text = given ?? execFileSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8' })
  if (!/^\d{1,11}$/.test(text.trim())) fail('SOURCE_DATE_EPOCH must be a number of seconds')
  return Number(text)
}

function fail(problem: string): never {
  console.error(`coind: ${problem}`)
  process.exit(69)
}
