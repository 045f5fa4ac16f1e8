import { PassThrough } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { readSecret } from '../../../src/cli/readSecret.ts'

function ask(keys: string, isTTY = true): { readonly answer: Promise<string>; readonly shown: () => string } {
  const input = Object.assign(new PassThrough(), { isTTY }) as unknown as NodeJS.ReadStream
  const output = new PassThrough()
  const answer = readSecret('Password: ', '--password-file', input, output as unknown as NodeJS.WriteStream)
  input.push(keys)
  const shown = (): string => {
    let text = ''
    for (let chunk = output.read(); chunk !== null; chunk = output.read()) text += String(chunk)
    return text
  }
  return { answer, shown }
}

describe('a question for a secret', () => {
  it('does not show the answer', async () => {
    const { answer, shown } = ask('correct horse\r')
    expect(await answer).toBe('correct horse')
    expect(shown()).toBe('Password: \n')
  })

  it.each([
    ['Ctrl-C', 'corr\u0003'],
    ['Ctrl-D', '\u0004'],
  ])('ends with %s', async (_, keys) => {
    await expect(ask(keys).answer).rejects.toMatchObject({ name: 'Interrupted' })
  })

  it('without a terminal says what to give instead', async () => {
    await expect(ask('', false).answer).rejects.toMatchObject({
      name: 'ConfigError',
      message: 'no terminal for the prompt (Password): give --password-file',
    })
  })
})
