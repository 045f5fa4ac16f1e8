import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readFixture, unpackFixture } from '../formats/fixture.ts'
import { describeChain, readChain } from './compareChains.ts'

const CHILD = new URL('./convertChild.ts', import.meta.url).pathname

interface Start {
  /** what it did before it was killed; nothing when it came to the end */
  readonly step: string
  readonly isKilled: boolean
  readonly left: string
}

/** Converts until the next step is done and the process is killed. */
function startOnce(homedir: string): Start {
  const { stdout, stderr, status, signal } = spawnSync(process.execPath, [CHILD, homedir], { encoding: 'utf8' })
  if (signal !== 'SIGKILL' && status !== 0) throw new Error(stderr)
  const left = readdirSync(homedir).filter((name) => name.startsWith('db'))
  return { step: stdout, isKilled: signal === 'SIGKILL', left: left.toSorted().join(' ') }
}

it('a conversion that is killed after every single step comes to the same end', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'coind-convert-'))
  const fixture = readFixture(2)
  const starts: Start[] = []
  unpackFixture(fixture, directory)
  do starts.push(startOnce(directory))
  while (starts.at(-1)!.isKilled && starts.length < 100)

  const killed = (step: string, left: string): Start => ({ step, isKilled: true, left })
  const batches = starts.filter(({ step }) => step === 'batch')
  expect(batches.length).toBeGreaterThan(1)
  expect(starts).toEqual([
    ...batches.map(() => killed('batch', 'db db.converting')),
    killed('rename', 'db.converting db.replaced'),
    killed('rename', 'db db.replaced'),
    killed('remove', 'db'),
    { step: '', isKilled: false, left: 'db' },
  ])
  const blocks = await readChain(directory, describeChain)
  expect(blocks).toHaveLength(fixture.height)
  rmSync(directory, { recursive: true })
}, 60_000)
