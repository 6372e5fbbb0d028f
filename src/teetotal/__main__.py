from teetotal.cli import main

main()
