import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { ConfigError } from '../config/configError.ts'

/**
 * Asks a person for a secret, which is not shown.
 * @throws ConfigError when the process has no terminal
 */
export async function readSecret(
  question: string,
  input: NodeJS.ReadStream = process.stdin,
  output: NodeJS.WriteStream = process.stderr,
): Promise<string> {
  if (!input.isTTY) {
    throw new ConfigError(`cannot ask for it without a terminal (${question.trim()}): use a file or the environment`)
  }
  output.write(question)
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input, output: silent, terminal: true })
  try {
    return await lines.question('')
  } finally {
    lines.close()
    output.write('\n')
  }
}
