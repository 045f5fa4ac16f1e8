import { execFileSync, spawnSync } from 'node:child_process'
import { chownSync, closeSync, constants, mkdirSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { variants } from '../propertyRuns.ts'
import { ACCOUNTS } from './devChain.ts'
import { rpc, until } from './rpc.ts'
import { startNode } from './startNode.ts'

/** What a pipe of Linux holds. */
const PIPE_BYTES = 65_536
const BLOCKS = 5

let directory: string
let path: string
let reader: number
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coind-unread-'))
  path = join(directory, 'pipe')
  execFileSync('mkfifo', [path])
  reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
})
afterEach(() => {
  closeSync(reader)
  rmSync(directory, { recursive: true, force: true })
})

/** The pipe's other end, full. */
function fullPipe(): number {
  const writer = openSync(path, constants.O_WRONLY)
  writeSync(writer, Buffer.alloc(PIPE_BYTES, '\n'))
  return writer
}

describe('a standard output that nobody reads', () => {
  it('does not stop a validator, and its lines come when it is read again', async () => {
    const stdout = fullPipe()
    const node = await startNode({
      command: 'start',
      homedir: join(directory, 'home'),
      environment: { LOG_LEVEL: 'trace', GENESIS_WALLET: ACCOUNTS[0]!.address },
      stdout,
      timeoutMs: 40_000,
    })
    closeSync(stdout)
    const height = async (): Promise<number> => Number(await rpc(node.url, 'eth_blockNumber'))
    const first = await height()
    await until('blocks', async () => (await height()) >= first + BLOCKS)

    const end = node.kill('SIGTERM')
    let output = ''
    const chunk = Buffer.alloc(PIPE_BYTES)
    const read = setInterval(() => {
      try {
        output += chunk.subarray(0, readSync(reader, chunk)).toString()
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
      }
    }, 1)
    expect(await end).toBe(0)
    clearInterval(read)
    for (let bytes = readSync(reader, chunk); bytes > 0; bytes = readSync(reader, chunk)) {
      output += chunk.subarray(0, bytes).toString()
    }
    const messages = output
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { msg: string }).msg)
    expect(messages).toContain('node is up')
    expect(messages.filter((message) => message === 'block decided').length).toBeGreaterThanOrEqual(BLOCKS)
    expect(messages.at(-1)).toBe('node has stopped')
  })
})

/** Whether this system has the program that makes a terminal, and a user who may not open it. */
const NO_SCRIPT = spawnSync('script', ['--version']).error !== undefined
const IS_ROOT = process.getuid?.() === 0
const NOBODY = 65_534

describe.skipIf(NO_SCRIPT)('a terminal that has stopped', () => {
  const USERS = [
    ['of another user, as after sudo', true],
    ['of the same user', false],
  ] as const
  // Only root has another user at hand.
  it.each(variants(IS_ROOT ? USERS : USERS.slice(1), 1))(
    '%s does not stop a node, its banner included',
    async (_, isOther) => {
      const stdout = fullPipe()
      const homedir = join(directory, 'home')
      mkdirSync(homedir)
      if (isOther) for (const made of [directory, homedir]) chownSync(made, NOBODY, NOBODY)
      const user = isOther ? `setpriv --reuid ${NOBODY} --regid ${NOBODY} --clear-groups` : ''
      // `script` writes what the terminal shows to the pipe and so shows nothing more, and `yes` fills what the terminal buffers.
      const terminal = `yes > /dev/tty & sleep 0.5; exec ${user} $*`
      const node = await startNode({
        homedir,
        within: ['sh', '-c', `exec script -qfec "${terminal}" /dev/null`, 'sh'],
        stdout,
      })
      closeSync(stdout)
      try {
        const height = async (): Promise<number> => Number(await rpc(node.url, 'eth_blockNumber'))
        const first = await height()
        await until('blocks', async () => (await height()) >= first + 2 * BLOCKS)
      } finally {
        await node.kill('SIGKILL')
      }
    },
  )
})
