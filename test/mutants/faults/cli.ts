import type { Faults } from '../fault.ts'

export const cliFaults: Faults = {
  'src/cli.ts': {
    tests: ['test/cli.test.ts'],
    faults: [
      ["slice(0, 2).join(' ')) ? 2 : 1", "slice(0, 2).join(' ')) ? 1 : 1"],
      ["join(' ') || 'help'", "join(' ')"],
      ['process.exitCode = isMisuse(error) ? 2 : 1', 'process.exitCode = 1'],
      ['  if (values.version === true) return console.log(versionOf())\n', ''],
      ["console.log(name === 'help' ? usage() : usageOf(name, command))", 'console.log(usage())'],
      ["console.log(name === 'help' ? usage() : usageOf(name, command))", 'console.log(usageOf(name, command))'],
      ['const most = words + (command.operand === undefined ? 0 : 1)', 'const most = words + 1'],
      ['  if (extra !== undefined && membersOf(name).length > 0) throw unknownOf(name, extra)\n', ''],
      ["  if (typeof envFile === 'string') loadEnvFile(envFile)\n", ''],
      ["token.kind !== 'option' || Object.hasOwn(flags, token.name)", "token.kind !== 'option'"],
      ['if (member === undefined && word !== undefined) throw unknownOf(group, word)', ''],
      ['meant ? `did you mean', '!meant ? `did you mean'],
      ["Object.hasOwn(listed, name) ? '[COMMAND]' : 'COMMAND'", "'[COMMAND]'"],
      ["type: value === undefined ? 'boolean' : 'string'", "type: value === undefined ? 'string' : 'string'"],
    ],
  },
}
