import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const NAME = /^format-(\d+)\.json\.gz$/

/** The data directory of a stopped devnet as an earlier version of the program left it: path below it → content in base64. */
interface FormatFixture {
  readonly files: Readonly<Record<string, string>>
}

/** The formats of which there is a fixture in this directory. */
export function fixtureFormats(): readonly number[] {
  return readdirSync(HERE)
    .flatMap((name) => NAME.exec(name)?.[1] ?? [])
    .map(Number)
}

export function unpackFixture(format: number, homedir: string): void {
  const { files } = JSON.parse(gunzipSync(readFileSync(fixturePath(format))).toString()) as FormatFixture
  for (const [path, content] of Object.entries(files)) {
    const target = join(homedir, path)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, Buffer.from(content, 'base64'), { mode: 0o600 })
  }
}

export function writeFixture(format: number, fixture: FormatFixture): void {
  // Not over an existing one: no version can write it again.
  writeFileSync(fixturePath(format), gzipSync(JSON.stringify(fixture), { level: 9 }), { flag: 'wx' })
}

function fixturePath(format: number): string {
  return join(HERE, `format-${format}.json.gz`)
}
