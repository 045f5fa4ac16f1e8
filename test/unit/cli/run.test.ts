import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'

it('a command whose reader has gone (`| head`) ends as it would have', async () => {
  const entry = new URL('../../../src/cli/run.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [entry, '--help'])
  child.stdout.destroy()
  let errors = ''
  child.stderr.on('data', (text) => {
    errors += text
  })
  const [code] = await once(child, 'close')
  expect([code, errors]).toEqual([0, ''])
})
