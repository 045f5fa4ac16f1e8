import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { ConfigError } from '../config/configError.ts'
import { Interrupted } from './stopSignal.ts'

/**
 * Asks a person for a secret, without showing what is typed.
 * @param instead how to give it where there is no terminal
 * @throws ConfigError when the process has no terminal
 * @throws Interrupted when the person does not answer
 */
export async function readSecret(
  question: string,
  instead: string,
  input: NodeJS.ReadStream = process.stdin,
  output: NodeJS.WriteStream = process.stderr,
): Promise<string> {
  if (!input.isTTY) {
    const what = question.replace(/:\s*$/, '')
    throw new ConfigError(`no terminal for the prompt (${what}): give ${instead}`)
  }
  output.write(question)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input, output: silent, terminal: true })
  try {
    return await lines.question('')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ABORT_ERR') throw new Interrupted('interrupted: nothing was done')
    throw error
  } finally {
    lines.close()
    output.write('\n')
  }
}
