import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { Hardfork } from '../../src/chain/genesis/hardfork.ts'
import { HARDFORKS } from '../../src/chain/genesis/hardfork.ts'

/** One expectation of a general state test: a file holds tests, a test holds expectations for forks and index triples. */
export interface StateTestCase {
  /** file, test, fork and indexes: the same in every run */
  readonly id: string
  readonly fork: Hardfork
  readonly test: StateTest
  readonly post: StateTestPost
}

export interface StateTestPost {
  readonly hash: string
  readonly logs: string
  readonly indexes: { readonly data: number; readonly gas: number; readonly value: number }
  readonly txbytes?: string
  readonly expectException?: string
}

interface StateTestAccount {
  readonly balance: string
  readonly nonce: string
  readonly code: string
  readonly storage: Readonly<Record<string, string>>
}

export interface StateTestTransaction {
  readonly data: readonly string[]
  readonly gasLimit: readonly string[]
  readonly value: readonly string[]
  readonly nonce: string
  readonly to: string
  readonly sender: string
  readonly secretKey: string
  readonly gasPrice?: string
  readonly maxFeePerGas?: string
  readonly maxPriorityFeePerGas?: string
  readonly maxFeePerBlobGas?: string
  readonly blobVersionedHashes?: readonly string[]
  readonly accessLists?: readonly (
    | readonly { readonly address: string; readonly storageKeys: readonly string[] }[]
    | null
  )[]
  readonly authorizationList?: readonly {
    readonly chainId: string
    readonly address: string
    readonly nonce: string
    readonly v: string
    readonly r: string
    readonly s: string
  }[]
}

export interface StateTest {
  readonly env: Readonly<Record<string, string>>
  readonly pre: Readonly<Record<string, StateTestAccount>>
  readonly transaction: StateTestTransaction
  readonly post: Readonly<Record<string, readonly StateTestPost[]>>
}

/** Paths of the test files below `directory`, sorted. */
export function stateTestFiles(directory: string): string[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.json'))
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort()
}

/** Expectations of one file for `forks` (names as in the files, e.g. `Cancun`). */
export function readStateTestCases(directory: string, file: string, forks: readonly string[]): StateTestCase[] {
  const tests: Record<string, StateTest> = JSON.parse(readFileSync(join(directory, file), 'utf8'))
  const cases: StateTestCase[] = []
  for (const [name, test] of Object.entries(tests)) {
    for (const fork of forks) {
      for (const post of test.post[fork] ?? []) {
        const { data, gas, value } = post.indexes
        const id = `${file.replace(/\.json$/, '')}/${name}/${fork}/${data}-${gas}-${value}`
        cases.push({ id, fork: hardforkOf(fork), test, post })
      }
    }
  }
  return cases
}

/** The expectations of each test and fork. */
export function testsOf(cases: readonly StateTestCase[]): readonly (readonly StateTestCase[])[] {
  return [...Map.groupBy(cases, ({ id }) => id.slice(0, id.lastIndexOf('/'))).values()]
}

function hardforkOf(name: string): Hardfork {
  const hardfork = HARDFORKS.find((known) => known.toLowerCase() === name.toLowerCase())
  if (hardfork === undefined) throw new Error(`unknown fork ${name}`)
  return hardfork
}
