import { spawn } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createLogger } from '../../../src/telemetry/logger.ts'

let directory: string
let fd: number
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-log-'))
  fd = openSync(join(directory, 'log'), 'w+')
})
afterEach(() => {
  closeSync(fd)
  rmSync(directory, { recursive: true })
})

const written = (): string => readFileSync(join(directory, 'log'), 'utf8')

describe('createLogger', () => {
  it('writes one JSON line a message where no terminal reads', () => {
    const logger = createLogger({ level: 'info', format: 'auto' }, { thread: 'main' }, fd).child({ part: 'rpc' })
    logger.info({ height: 5, error: new TypeError('broken') }, 'block')
    logger.debug('not shown')
    const lines = written().trim().split('\n')
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0]!)).toMatchObject({
      level: 'info',
      thread: 'main',
      part: 'rpc',
      height: 5,
      msg: 'block',
      error: { type: 'TypeError', message: 'broken' },
    })
  })

  it('writes for humans when asked', () => {
    createLogger({ level: 'info', format: 'human' }, {}, fd).child({ part: 'rpc' }).info({ port: 8080 }, 'listening')
    expect(written()).toMatch(/^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: rpc: listening \{"port":8080\}\n$/)
  })

  it('is silent at the level silent', () => {
    createLogger({ level: 'silent', format: 'json' }, {}, fd).fatal('nothing')
    expect(written()).toBe('')
  })

  const script = (body: string): string => `
    import { Worker } from 'node:worker_threads'
    import { createLogger } from '${new URL('../../../src/telemetry/logger.ts', import.meta.url).href}'
    ${body}`

  it('writes whole lines from several threads', async () => {
    const worker = script(`const log = createLogger({ level: 'info', format: 'json' }, { thread: 'worker' })
      for (let i = 0; i < 500; i++) log.info({ i, padding: 'w'.repeat(300) }, 'line')`)
    const child = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      script(`const log = createLogger({ level: 'info', format: 'json' }, { thread: 'main' })
      new Worker(new URL('data:text/javascript,' + encodeURIComponent(${JSON.stringify(worker)})))
      for (let i = 0; i < 500; i++) log.info({ i, padding: 'm'.repeat(300) }, 'line')`),
    ])
    let output = ''
    child.stdout.on('data', (data) => {
      output += data
    })
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(0)
    const threads = output
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { thread: string }).thread)
    expect(threads.filter((thread) => thread === 'main')).toHaveLength(500)
    expect(threads.filter((thread) => thread === 'worker')).toHaveLength(500)
  })

  it.each(['pipe', 'socket'])(
    'goes on while nobody reads its %s, and says then how many lines are missing',
    async (kind) => {
      const count = 20_000
      const body = script(`process.stdout.on('error', () => undefined)
      const log = createLogger({ level: 'debug', format: 'json' })
      for (let i = 0; i < ${count}; i++) log.debug({ i, padding: 'd'.repeat(100) }, 'line')
      log.error('broken')
      process.stderr.write('done')
      setTimeout(() => undefined, 300)`)
      // Node.js gives its children sockets; `cat` that does not read yet leaves a pipe full.
      const child = spawn(
        'sh',
        [
          '-c',
          kind === 'pipe'
            ? '"$0" --input-type=module -e "$1" | (read -r _ <&3; cat)'
            : 'exec "$0" --input-type=module -e "$1"',
          process.execPath,
          body,
        ],
        { stdio: ['ignore', 'pipe', 'pipe', 'pipe'] },
      )
      await new Promise((resolve) => child.stderr!.once('data', resolve))
      if (kind === 'pipe') (child.stdio[3] as Writable).end('go\n')
      let output = ''
      child.stdout!.on('data', (data: Buffer) => {
        output += data.toString()
      })
      await new Promise((resolve) => child.on('close', resolve))
      const lines = output
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { level: string; msg: string; dropped?: number })
      const dropped = lines.at(-1)!.dropped!
      expect(dropped).toBeGreaterThan(1_000)
      expect(lines.filter(({ level }) => level === 'debug')).toHaveLength(count - dropped)
      expect(lines.at(-2)).toMatchObject({ level: 'error', msg: 'broken' })
    },
  )

  it('does not stop the process when the reader goes away', async () => {
    const child = spawn(process.execPath, [
      '--input-type=module',
      '-e',
      script(`const log = createLogger({ level: 'info', format: 'json' })
      let i = 0
      const timer = setInterval(() => { log.info('line'); if (++i === 20) { clearInterval(timer); process.exitCode = 7 } }, 5)`),
    ])
    child.stdout.once('data', () => child.stdout.destroy())
    expect(await new Promise((resolve) => child.on('exit', resolve))).toBe(7)
  })
})
