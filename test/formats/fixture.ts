import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import type { TestNode } from '../e2e/startNode.ts'

const HERE = fileURLToPath(new URL('.', import.meta.url))
const NAME = /^format-(\d+)\.json\.gz$/

/** A request and what the version that wrote the database answered. */
export interface Answer {
  /** below the node's URL */
  readonly path: string
  /** of a POST; without it the request is a GET */
  readonly body?: string
  readonly answer: string
}

/** The data directory of a stopped devnet as an earlier version of the program left it. */
export interface FormatFixture {
  /** height of its head */
  readonly height: number
  readonly answers: readonly Answer[]
  /** path below the data directory → content in base64 */
  readonly files: Readonly<Record<string, string>>
}

/** Settings of the node that made a fixture, and of those that read it. */
export const FIXTURE_ENVIRONMENT = { PRUNING: 'archive' } as const

/** The formats of which there is a fixture beside this file. */
export function fixtureFormats(): readonly number[] {
  return readdirSync(HERE)
    .flatMap((name) => NAME.exec(name)?.[1] ?? [])
    .map(Number)
}

export function readFixture(format: number): FormatFixture {
  return JSON.parse(gunzipSync(readFileSync(fixturePath(format))).toString()) as FormatFixture
}

export function writeFixture(format: number, fixture: FormatFixture): void {
  // Not over an existing one: no version can write it again.
  writeFileSync(fixturePath(format), gzipSync(JSON.stringify(fixture), { level: 9 }), { flag: 'wx' })
}

function fixturePath(format: number): string {
  return join(HERE, `format-${format}.json.gz`)
}

export function unpackFixture({ files }: FormatFixture, homedir: string): void {
  for (const [path, content] of Object.entries(files)) {
    const target = join(homedir, path)
    mkdirSync(dirname(target), { recursive: true })
    writeFileSync(target, Buffer.from(content, 'base64'), { mode: 0o600 })
  }
}

export async function answerOf(
  { url }: Pick<TestNode, 'url'>,
  { path, body }: Omit<Answer, 'answer'>,
): Promise<string> {
  const post = { method: 'POST', headers: { 'content-type': 'application/json' } }
  const response = await fetch(new URL(path, url), body === undefined ? {} : { ...post, body })
  return response.text()
}
