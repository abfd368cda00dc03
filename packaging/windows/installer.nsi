; The installer for one person: no administrator, nothing outside of the person's own folders.
Target amd64-unicode
SetCompressor /SOLID lzma
!include MUI2.nsh

Name "${title}"
OutFile "${out}"
InstallDir "$$LOCALAPPDATA\Programs\${title}"
InstallDirRegKey HKCU "Software\${command}" "Folder"
RequestExecutionLevel user
!define MUI_ICON "${icon}"
!define MUI_UNICON "${icon}"
!insertmacro MUI_PAGE_WELCOME
!insertmacro MUI_PAGE_DIRECTORY
!insertmacro MUI_PAGE_INSTFILES
!define MUI_FINISHPAGE_RUN "$$INSTDIR\${command}.exe"
!insertmacro MUI_PAGE_FINISH
!insertmacro MUI_UNPAGE_CONFIRM
!insertmacro MUI_UNPAGE_INSTFILES
!insertmacro MUI_LANGUAGE "English"
!insertmacro MUI_LANGUAGE "German"

!define REMOVAL "Software\Microsoft\Windows\CurrentVersion\Uninstall\${id}"
!define CLASSES "Software\Classes"

Section
  ; The files of the version before, and nothing that the person keeps: that is elsewhere.
  RMDir /r "$$INSTDIR\_internal"
  SetOutPath "$$INSTDIR"
  File /r "${program}\*"
  WriteUninstaller "$$INSTDIR\uninstall.exe"
  CreateShortcut "$$SMPROGRAMS\${title}.lnk" "$$INSTDIR\${command}.exe" "" "$$INSTDIR\${command}.exe"
  WriteRegStr HKCU "Software\${command}" "Folder" "$$INSTDIR"

  WriteRegStr HKCU "$${CLASSES}\${scheme}" "" "URL:${title}"
  WriteRegStr HKCU "$${CLASSES}\${scheme}" "URL Protocol" ""
  WriteRegStr HKCU "$${CLASSES}\${scheme}\shell\open\command" "" '"$$INSTDIR\${command}.exe" "%1"'
  WriteRegStr HKCU "$${CLASSES}\Directory\shell\${command}" "" "${title}"
  WriteRegStr HKCU "$${CLASSES}\Directory\shell\${command}" "Icon" "$$INSTDIR\${command}.exe"
  WriteRegStr HKCU "$${CLASSES}\Directory\shell\${command}\command" "" '"$$INSTDIR\${command}.exe" "%1"'

  WriteRegStr HKCU "$${REMOVAL}" "DisplayName" "${title}"
  WriteRegStr HKCU "$${REMOVAL}" "DisplayVersion" "${version}"
  WriteRegStr HKCU "$${REMOVAL}" "Publisher" "${publisher}"
  WriteRegStr HKCU "$${REMOVAL}" "DisplayIcon" "$$INSTDIR\${command}.exe"
  WriteRegStr HKCU "$${REMOVAL}" "UninstallString" '"$$INSTDIR\uninstall.exe"'
  WriteRegStr HKCU "$${REMOVAL}" "QuietUninstallString" '"$$INSTDIR\uninstall.exe" /S'
  WriteRegDWORD HKCU "$${REMOVAL}" "EstimatedSize" ${kilobytes}
  WriteRegDWORD HKCU "$${REMOVAL}" "NoModify" 1
  WriteRegDWORD HKCU "$${REMOVAL}" "NoRepair" 1
SectionEnd

Section "Uninstall"
  RMDir /r "$$INSTDIR\_internal"
  Delete "$$INSTDIR\bom.cdx.json"
  Delete "$$INSTDIR\licences.txt"
  Delete "$$INSTDIR\${command}.exe"
  Delete "$$INSTDIR\uninstall.exe"
  RMDir "$$INSTDIR"
  Delete "$$SMPROGRAMS\${title}.lnk"
  DeleteRegKey HKCU "$${CLASSES}\${scheme}"
  DeleteRegKey HKCU "$${CLASSES}\Directory\shell\${command}"
  DeleteRegKey HKCU "$${REMOVAL}"
  DeleteRegKey HKCU "Software\${command}"
SectionEnd
