import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'

/** Stands for the node: says what it got, and tells in a file that it was stopped. */
const NODE = `
import { writeFileSync } from 'node:fs'
const [command, argument]: string[] = process.argv.slice(2)
if (command === 'exit') process.exit(Number(argument))
const stop = (how: string) => { writeFileSync(argument!, how); process.exit(5) }
process.on('SIGTERM', () => stop('SIGTERM'))
process.on('SIGINT', () => stop('SIGINT'))
process.on('disconnect', () => stop('disconnect'))
setInterval(() => undefined, 1000)
console.log('version ' + process.versions.node + ' launched ' + process.env['COIND_LAUNCHED'])
`
/** Makes the launcher believe that it runs on another Node.js. */
const pretending = (version: string): string =>
  `data:text/javascript,${encodeURIComponent(
    `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`,
  )}`
const OLD = '20.1.0'
const LATER = '28.1.0'

let project: string
let stopped: string
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), 'coind-launcher-'))
  stopped = join(project, 'stopped')
  mkdirSync(join(project, 'bin'))
  mkdirSync(join(project, 'src/cli'), { recursive: true })
  writeFileSync(join(project, 'package.json'), '{"type": "module"}')
  for (const file of ['builtNode.js', 'coind.js', 'npmParents.js']) {
    copyFileSync(new URL(`../../../bin/${file}`, import.meta.url), join(project, 'bin', file))
  }
  writeFileSync(join(project, 'src/cli/run.ts'), NODE)
})
afterEach(() => {
  rmSync(project, { recursive: true })
})

function bundleRuntime(): void {
  const directory = join(project, `node_modules/node-${process.platform}-${process.arch}`)
  mkdirSync(join(directory, 'bin'), { recursive: true })
  writeFileSync(join(directory, 'package.json'), '{}')
  symlinkSync(process.execPath, join(directory, 'bin/node'))
}

function launch(version: string | undefined, ...args: string[]): ChildProcess {
  const flags = version === undefined ? [] : ['--import', pretending(version)]
  return spawn(process.execPath, [...flags, join(project, 'bin/coind.js'), ...args])
}

async function endOf(child: ChildProcess): Promise<{ code: number | null; errors: string }> {
  let errors = ''
  child.stderr?.on('data', (data) => {
    errors += String(data)
  })
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, errors })))
}

async function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => child.stdout?.once('data', (data) => resolve(String(data).trim())))
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 10))
}

describe('bin/coind.js', () => {
  it('runs the node itself on the pinned Node.js', async () => {
    const child = launch(undefined, 'run', stopped)
    expect(await firstLine(child)).toBe(`version ${process.versions.node} launched undefined`)
    child.kill('SIGTERM')
    expect((await endOf(child)).code).toBe(5)
    expect(readFileSync(stopped, 'utf8')).toBe('SIGTERM')
  })

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'runs the bundled Node.js and passes on %s and the exit code',
    async (signal) => {
      bundleRuntime()
      const child = launch(OLD, 'run', stopped)
      expect(await firstLine(child)).toBe(`version ${process.versions.node} launched 1`)
      child.kill(signal)
      expect((await endOf(child)).code).toBe(5)
      expect(readFileSync(stopped, 'utf8')).toBe(signal)
    },
  )

  it('prefers the bundled Node.js to a later one, and runs the node itself where there is none', async () => {
    const alone = launch(LATER, 'run', stopped)
    expect(await firstLine(alone)).toBe(`version ${LATER} launched undefined`)
    alone.kill('SIGTERM')
    await endOf(alone)
    bundleRuntime()
    const child = launch(LATER, 'run', stopped)
    expect(await firstLine(child)).toBe(`version ${process.versions.node} launched 1`)
    child.kill('SIGTERM')
    await endOf(child)
  })

  it.each([
    ['start', 0],
    ['export', 143],
  ])('gives the code of a clean stop to a node that had not begun to listen to signals: %s', async (command, code) => {
    bundleRuntime()
    writeFileSync(join(project, 'src/cli/run.ts'), "setInterval(() => undefined, 1000)\nconsole.log('up')")
    const child = launch(OLD, command)
    await firstLine(child)
    child.kill('SIGTERM')
    expect((await endOf(child)).code).toBe(code)
  })

  it('ends with the code of a command that runs no node, whose end of the channel is no stop', async () => {
    const real = new URL('../../../bin/coind.js', import.meta.url).pathname
    const child = spawn(process.execPath, ['--import', pretending(OLD), real, 'version'])
    expect((await endOf(child)).code).toBe(0)
  })

  it.each([
    ['the shell that npm starts', 'parent'],
    ['npm', 'grandparent'],
  ])('stops the node when %s is killed', async (_, killed) => {
    // npm does not set the variable for itself, but for its shell.
    const script = `const { spawn } = require('node:child_process')
      const [level, ...rest] = process.argv.slice(1)
      const env = { ...process.env, npm_lifecycle_event: 'start' }
      const next = level === 'grandparent' ? [process.execPath, '-e', process.env.SCRIPT, 'parent', ...rest] : rest
      spawn(next[0], next.slice(1), { stdio: 'inherit', env }).on('exit', () => process.exit())
      if (level === process.env.KILLED) process.stdin.on('data', () => process.kill(process.pid, 'SIGKILL'))
      else setInterval(() => undefined, 1000)`
    const coind = [process.execPath, join(project, 'bin/coind.js'), 'run', stopped]
    const child = spawn(process.execPath, ['-e', script, 'grandparent', ...coind], {
      env: { ...process.env, SCRIPT: script, KILLED: killed },
    })
    await firstLine(child)
    child.stdin.write('now')
    await until(() => existsSync(stopped) && readFileSync(stopped, 'utf8') !== '')
    expect(readFileSync(stopped, 'utf8')).toBe('disconnect')
    child.kill('SIGKILL')
  })

  describe('with a bundle', () => {
    const FILES = ['package.json', 'src/cli/run.ts']
    const file = (path: string): string => join(project, path)
    beforeEach(() => {
      mkdirSync(file('dist/node'), { recursive: true })
      writeFileSync(file('dist/node/run.js'), "console.log('the bundle')")
      const hash = createHash('sha256')
      for (const path of FILES) {
        const content = readFileSync(file(path))
        hash.update(`${path}\0${content.length}\0`).update(content)
      }
      writeFileSync(file('dist/node/manifest.json'), JSON.stringify({ files: FILES, sha256: hash.digest('hex') }))
      writeFileSync(file('src/cli/run.ts.new'), "console.log('the sources')")
    })

    it('runs it when it was made from these sources', async () => {
      expect(await firstLine(launch(undefined))).toBe('the bundle')
      bundleRuntime()
      expect(await firstLine(launch(OLD))).toBe('the bundle')
    })

    it.each([
      ['one of them has changed', () => renameSync(file('src/cli/run.ts.new'), file('src/cli/run.ts'))],
      [
        'another is gone',
        () => {
          renameSync(file('src/cli/run.ts.new'), file('src/cli/run.ts'))
          rmSync(file('package.json'))
        },
      ],
      [
        'it was not written to its end',
        () => {
          renameSync(file('src/cli/run.ts.new'), file('src/cli/run.ts'))
          truncateSync(file('dist/node/manifest.json'), 20)
        },
      ],
    ])('runs the sources when %s', async (_, change) => {
      change()
      expect(await firstLine(launch(undefined))).toBe('the sources')
    })
  })

  it('passes on exit codes', async () => {
    bundleRuntime()
    expect((await endOf(launch(OLD, 'exit', '64'))).code).toBe(64)
    expect((await endOf(launch(OLD, 'exit', '0'))).code).toBe(0)
  })

  it('says which library may be missing when the bundled Node.js does not load', async () => {
    bundleRuntime()
    const { code, errors } = await endOf(launch(OLD, 'exit', '127'))
    expect(code).toBe(127)
    expect(errors).toMatch(/^coind: \S+ does not load: [^\n]+ libatomic [^\n]+\n$/)
  })

  it('stops the node when the launcher itself is killed', async () => {
    bundleRuntime()
    const child = launch(OLD, 'run', stopped)
    await firstLine(child)
    child.kill('SIGKILL')
    await until(() => existsSync(stopped) && readFileSync(stopped, 'utf8') !== '')
    expect(readFileSync(stopped, 'utf8')).toBe('disconnect')
  })

  it('says in one line what is missing where there is no bundled Node.js', async () => {
    const { code, errors } = await endOf(launch(OLD, 'run', stopped))
    expect(code).toBe(69)
    expect(errors).toMatch(
      /^coind: needs Node\.js 26, this is v\S+ and there is no bundled one for \S+: install [^\n]+\n$/,
    )
  })
})
