import { execFileSync, spawn } from 'node:child_process'
import { closeSync, constants, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLineWriter, droppedLines } from '../../../src/telemetry/lineWriter.ts'

const DEBUG = 20
const INFO = 30
const ERROR = 50
/** What a pipe of Linux holds. */
const PIPE_BYTES = 65_536

describe('createLineWriter', () => {
  let directory: string
  let path: string
  let fd: number
  let reader: number
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'coind-pipe-'))
    path = join(directory, 'pipe')
    execFileSync('mkfifo', [path])
    reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    // Blocks when it is full, as the standard output may.
    fd = openSync(path, constants.O_WRONLY)
  })
  afterEach(() => {
    closeSync(fd)
    closeSync(reader)
    rmSync(directory, { recursive: true })
  })

  /** What the pipe holds now. */
  const read = (): string => {
    const chunk = Buffer.alloc(2 * PIPE_BYTES)
    try {
      return chunk.subarray(0, readSync(reader, chunk)).toString()
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return ''
      throw error
    }
  }

  /** Reads and flushes until nothing comes any more. */
  const readAll = (writer: { flush(): void }): string => {
    let text = ''
    for (let part = read(); part !== ''; part = read()) {
      text += part
      writer.flush()
    }
    return text
  }

  const line = (index: number, bytes = 100): string => `${index} `.padEnd(bytes - 1, 'x').concat('\n')

  it('keeps whole lines in order while nobody reads, drops what does not fit, and counts it once', () => {
    const before = droppedLines()
    const counts: number[] = []
    const writer = createLineWriter(fd, (count) => counts.push(count), 10_000)
    for (let i = 0; i < 2_000; i++) writer.write(line(i), INFO)
    expect(counts).toEqual([])
    const lines = readAll(writer).trimEnd().split('\n')
    expect(lines.map((text) => Number.parseInt(text, 10))).toEqual([...lines.keys()])
    expect(lines.length).toBeGreaterThan(600)
    expect(counts).toEqual([2_000 - lines.length])
    expect(droppedLines() - before).toBe(2_000 - lines.length)
  })

  it('drops the least important lines first', () => {
    const writer = createLineWriter(fd, () => undefined, 10_000)
    for (let i = 0; i < 1_000; i++) writer.write(line(i), DEBUG)
    for (let i = 1_000; i < 1_050; i++) writer.write(line(i), INFO)
    for (let i = 1_050; i < 1_150; i++) writer.write(line(i), ERROR)
    writer.write(line(1_150), DEBUG)
    const numbers = readAll(writer)
      .trimEnd()
      .split('\n')
      .map((text) => Number.parseInt(text, 10))
    expect(numbers.slice(-100)).toEqual(Array.from({ length: 100 }, (_, i) => 1_050 + i))
    expect(numbers.at(-101)).toBeLessThan(1_000)
  })

  it('ends a line that did not fit whole before another writer begins one', () => {
    const first = createLineWriter(fd, () => undefined)
    const second = createLineWriter(fd, () => undefined)
    first.write(line(1, 100_000), INFO)
    let text = read()
    expect(text).toHaveLength(PIPE_BYTES)
    second.write(line(2), INFO)
    first.flush()
    second.flush()
    text += read()
    expect(text).toBe(line(1, 100_000) + line(2))
  })

  it('loses nothing at the end of a process whose reader goes on', async () => {
    const url = new URL('../../../src/telemetry/lineWriter.ts', import.meta.url).href
    const child = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      `import { createLineWriter } from '${url}'
      process.stdout.on('error', () => undefined)
      const writer = createLineWriter(1, () => undefined)
      for (let i = 0; i < 8_000; i++) writer.write('x'.repeat(99) + '\\n', 30)
      writer.write('last\\n', 60)
      process.exit(3)`,
    ])
    let output = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(3)
    expect(output.split('\n')).toHaveLength(8_002)
    expect(output.endsWith('\nlast\n')).toBe(true)
  })
})
